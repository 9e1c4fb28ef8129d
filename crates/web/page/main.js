// The page: theme, account, claims, audit. Each part begins by itself.

import { beginAccount } from "./account.js";
import { beginAudit } from "./audit.js";
import { beginClaims } from "./claims.js";
import { beginTheme } from "./theme.js";

beginTheme();
beginAccount();
beginClaims();
beginAudit();
