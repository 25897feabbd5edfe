import { audit, branding, clients, environment, mail, sites } from './administration.ts';
import { appPackages, apps, savedFilters, usage } from './apps.ts';
import { passwords, sessions, tokens } from './auth.ts';
import type { AllDescriptions, Description } from './types.ts';
import { invitations, roles, users } from './users.ts';

const DESCRIPTIONS = {
  ...{ tokens, sessions, passwords, users, roles, invitations, sites, clients, branding, environment },
  ...{ apps, appPackages, usage, savedFilters, audit, mail },
} satisfies AllDescriptions;

const byProcedure = new Map<string, Description>(
  Object.entries(DESCRIPTIONS).flatMap(([router, descriptions]) =>
    Object.entries<Description>(descriptions).map(
      ([name, description]) => [`${router}.${name}`, description] as const,
    ),
  ),
);

/** @param procedure its tRPC path, such as `users.get` */
export const describeProcedure = (procedure: string): Description => {
  const description = byProcedure.get(procedure);
  if (!description) throw new Error(`${procedure} has no description.`);
  return description;
};
