# Without arguments the image does what the first command of README.md does. Reports go to /data:
#   docker build --tag veracity .
#   docker run --rm --volume "$PWD/data:/data" --user "$(id -u):$(id -g)" veracity
#   docker run --rm --volume "$PWD/data:/data" --user "$(id -u):$(id -g)" veracity verify claim.json

# The oldest compiler that is promised (rust-version in Cargo.toml), so that the promise is kept by each build.
FROM rust:1.89-slim-bookworm AS build
WORKDIR /build
COPY . .
RUN cargo install --path crates/cli --locked --root /built

FROM debian:bookworm-slim
COPY --from=build /built/bin/veracity /usr/local/bin/veracity
COPY LICENSE-APACHE LICENSE-MIT NOTICE /usr/share/doc/veracity/
RUN useradd --system --uid 10001 veracity && install --directory --owner=veracity /data
USER veracity
WORKDIR /data
ENTRYPOINT ["veracity"]
CMD ["audit"]
