import { appPackages, apps, savedFilters, usage } from './apps.ts';
import { passwords, sessions, tokens } from './auth.ts';
import { branding, clients, environment, sites } from './clients.ts';
import type { AllWordings, Wording } from './description.ts';
import { audit, mail } from './records.ts';
import { invitations, roles, users } from './users.ts';

const WORDINGS = {
  ...{ tokens, sessions, passwords, users, roles, invitations, sites, clients, branding, environment },
  ...{ apps, appPackages, usage, savedFilters, audit, mail },
} satisfies AllWordings;

const byProcedure = new Map<string, Wording>(
  Object.entries(WORDINGS).flatMap(([router, wordings]) =>
    Object.entries<Wording>(wordings).map(([name, wording]) => [`${router}.${name}`, wording] as const),
  ),
);

/** @param procedure its path, such as `users.get` */
export const wordingOfProcedure = (procedure: string): Wording => {
  const wording = byProcedure.get(procedure);
  if (!wording) throw new Error(`${procedure} has no wording`);
  return wording;
};
