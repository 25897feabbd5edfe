import { ADA, EDSGER, GRACE, ROOT, type TestApp } from './test-app.ts';
import { CHURN, FLEET, SALES } from './usage.ts';

const GRANTS: [email: string, apps: string[]][] = [
  [ADA, [SALES, CHURN]],
  [GRACE, [SALES]],
  [EDSGER, [FLEET]],
];

/** Restores what the users of the demo workspace may open, for tests that change it. */
export const restoreGrants = async (app: TestApp): Promise<void> => {
  for (const [email, apps] of GRANTS) await app.as(ROOT).users.update({ email, apps, is_active: true });
};
