-- answered
SELECT SUM(cost) / COUNT(*) FROM visits

-- answered
SELECT sex, SUM(cost) / COUNT(*) AS per_visit, COUNT(*) AS n FROM visits GROUP BY sex

-- answered
SELECT SUM(cost) / NULLIF(COUNT(*), 0) FROM visits

-- answered
SELECT 100.0 * SUM(CASE WHEN smoker = 'yes' THEN 1 ELSE 0 END) / COUNT(*) AS percent FROM visits

-- answered
SELECT sex, 100.0 * SUM(CASE WHEN smoker = 'yes' THEN 1 ELSE 0 END) / COUNT(*) AS percent FROM visits GROUP BY sex

-- answered
SELECT ROUND(100.0 * COUNT(cost) / COUNT(*), 1) AS percent_filled FROM visits

-- answered
SELECT AVG(cost) - 2 * STDDEV(cost) AS low, AVG(cost) + 2 * STDDEV(cost) AS high FROM visits

-- answered
SELECT ROUND(AVG(cost), 1) AS mean FROM visits

-- answered
SELECT sex, ROUND(AVG(cost), -1) AS mean FROM visits GROUP BY sex

-- answered
SELECT COUNT(*) * 1.0 / 365 AS per_day FROM visits

-- answered
SELECT ward, COUNT(*) / 12 AS per_month FROM visits GROUP BY ward

-- answered
SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY cost) AS median FROM visits

-- answered
SELECT PERCENTILE_DISC(0.9) WITHIN GROUP (ORDER BY cost DESC) FROM visits

-- answered
SELECT APPROX_QUANTILE(cost, 0.25) AS q1, QUANTILE_CONT(cost, 0.75) AS q3 FROM visits

-- answered
SELECT ROUND(MEDIAN(cost), 0) FROM visits

-- answered
SELECT VAR_SAMP(cost), STDDEV_SAMP(cost) FROM visits

-- answered
SELECT sex, VAR_POP(cost) AS v, STDDEV_POP(cost) AS s FROM visits GROUP BY sex

-- answered
SELECT CORR(cost, age) FROM visits

-- answered
SELECT sex, CORR(cost, age) AS r, COUNT(*) AS n FROM visits GROUP BY sex

-- answered
SELECT REGR_SLOPE(cost, age) AS slope, REGR_INTERCEPT(cost, age) AS intercept, REGR_R2(cost, age) AS r2 FROM visits

-- answered
SELECT COVAR_POP(cost, age), COVAR_SAMP(cost, age), REGR_AVGX(cost, age), REGR_AVGY(cost, age), REGR_COUNT(cost, age) FROM visits

-- answered
SELECT sex, COUNT(*) AS n, AVG(cost) AS m FROM visits GROUP BY sex HAVING COUNT(*) > 10 AND AVG(cost) > 5

-- answered
SELECT sex, COUNT(*) AS n, SUM(cost) AS s FROM visits GROUP BY sex HAVING s / n > 5 AND n BETWEEN 10 AND 1000

-- answered
SELECT sex, COUNT(*) FROM visits GROUP BY sex ORDER BY 2 DESC

-- answered
SELECT sex, COUNT(*) AS n, SUM(cost) AS s FROM visits GROUP BY sex ORDER BY s / n DESC, sex LIMIT 5

-- answered
SELECT COUNT(*) AS n, AVG(cost), SUM(cost), COUNT(cost), VARIANCE(cost) FROM visits

-- answered
SELECT sex, AVG(cost) AS m FROM visits GROUP BY sex HAVING COUNT(cost) > 10

-- answered
SELECT SQRT(VARIANCE(cost)) AS s, ABS(AVG(cost) - 100) AS off, LN(GREATEST(COUNT(*), 1)) AS log_n FROM visits

-- answered
SELECT LEAST(AVG(cost), 500) AS capped, EXP(-COUNT(*) / 1000) AS e FROM visits

-- answered
SELECT sex, -SUM(cost) AS loss, STDDEV(cost) / AVG(cost) AS variation FROM visits GROUP BY sex

-- answered
SELECT COUNT(DISTINCT patient), COUNT(*) * 1.0 / COUNT(DISTINCT patient) AS visits_each FROM visits

-- refused: use QUANTILE(x, 0.99)
SELECT MAX(cost) FROM visits

-- refused: use QUANTILE(x, 0.01)
SELECT sex, MIN(age) FROM visits GROUP BY sex

-- refused: a window returns one row for each row of the table
SELECT SUM(cost) OVER (PARTITION BY sex) FROM visits

-- refused: a window returns one row for each row of the table
SELECT ROW_NUMBER() OVER (ORDER BY cost) FROM visits

-- refused: the caps of a person hold within one query
SELECT COUNT(*) FROM visits UNION ALL SELECT COUNT(*) FROM visits

-- refused: any number of other distinct values
SELECT COUNT(DISTINCT ward) FROM visits

-- refused: the error bar of a quantile holds only by itself
SELECT MEDIAN(cost) - AVG(cost) FROM visits

-- refused: add it to SELECT
SELECT sex, AVG(cost) AS m FROM visits GROUP BY sex HAVING COUNT(*) > 10

-- refused: query divides by 0
SELECT COUNT(*) / 0 FROM visits

-- answered
SELECT sex, smoker, COUNT(*) FROM visits GROUP BY ROLLUP (sex, smoker)

-- answered
SELECT sex, smoker, COUNT(*) AS n, GROUPING(sex) AS all_sexes, GROUPING(sex, smoker) AS level FROM visits GROUP BY CUBE (sex, smoker) ORDER BY level, sex, n DESC

-- answered
SELECT sex, smoker, AVG(cost), MEDIAN(cost) FROM visits GROUP BY GROUPING SETS ((sex), (smoker), ())

-- answered
SELECT ward, DATE_TRUNC('month', visited) AS m, COUNT(*) FROM visits GROUP BY ward, ROLLUP (m)

-- answered
SELECT sex, COUNT(*) FROM visits GROUP BY sex WITH ROLLUP

-- answered
SELECT sex, COUNT(*) AS n FROM visits GROUP BY ROLLUP (1) HAVING GROUPING(sex) = 1 OR n > 10

-- answered
SELECT sex, ward, COUNT(*) FROM visits GROUP BY GROUPING SETS ((sex, ward), ((sex)))

-- answered
SELECT sex, CAST(AVG(cost) AS INTEGER), CAST(COUNT(*) AS DOUBLE) / 12 FROM visits GROUP BY sex

-- refused: the same grouping twice
SELECT sex, COUNT(*) FROM visits GROUP BY GROUPING SETS ((sex), (smoker), (sex))

-- refused: the same key twice
SELECT sex, COUNT(*) FROM visits GROUP BY sex, ROLLUP (sex, smoker)

-- refused: the same key twice
SELECT sex, COUNT(*) FROM visits GROUP BY sex, CUBE (sex)

-- refused: at most 32 groupings
SELECT COUNT(*) FROM visits GROUP BY CUBE (sex, smoker, ward, age / 1, cost / 1, visited)

-- refused: without grouping by it
SELECT ward, COUNT(*) FROM visits GROUP BY ROLLUP (sex)

-- refused: expected keys of GROUP BY
SELECT sex, GROUPING(ward), COUNT(*) FROM visits GROUP BY ROLLUP (sex)

-- refused: no aggregate
SELECT ward FROM visits GROUP BY ROLLUP (ward)
