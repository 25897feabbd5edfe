import type { SqlEntityManager } from '@mikro-orm/postgresql';
import type { PackageStore } from '../adapters/package-store.ts';
import type { PasswordHasher } from '../adapters/password-hasher.ts';
import type { Clock } from '../core/clock.ts';
import { createAppPackages } from './app-packages.ts';
import { createApps } from './apps.ts';
import { createClients } from './clients.ts';
import { createEnvironment, type Environment } from './environment.ts';
import { createIdentity } from './identity.ts';
import { createInvitations } from './invitations.ts';
import type { LoginThrottle } from './login-throttle.ts';
import { createRoles } from './roles.ts';
import { createSavedFilters } from './saved-filters.ts';
import { createSites } from './sites.ts';
import { createUsage } from './usage.ts';
import { createUsers } from './users.ts';

/** What lasts as long as the process, and what the settings say. */
export type ServiceDeps = {
  clock: Clock;
  hasher: PasswordHasher;
  throttle: LoginThrottle;
  store: PackageStore;
  tokenIdleDays: number;
  invitationDays: number;
  environment: Environment;
};

/** The rules of the business over one unit of work: an entity manager that nobody else uses. */
export const createServices = (em: SqlEntityManager, deps: ServiceDeps) => {
  const { clock, hasher, throttle, store, tokenIdleDays, invitationDays, environment } = deps;
  return {
    identity: createIdentity({ em, clock, hasher, throttle, tokenIdleDays }),
    sites: createSites({ em }),
    clients: createClients({ em }),
    users: createUsers({ em, clock }),
    roles: createRoles({ em }),
    invitations: createInvitations({ em, clock, invitationDays }),
    apps: createApps({ em, clock }),
    usage: createUsage({ em, clock }),
    savedFilters: createSavedFilters({ em, clock }),
    appPackages: createAppPackages({ em, clock, store }),
    environment: createEnvironment({ em, defaults: environment }),
  };
};

export type Services = ReturnType<typeof createServices>;
