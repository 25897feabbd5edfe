import type { AppRouter } from '../../../../routers/index.ts';
import type { ProblemCode } from '../../../lib/problems.ts';
import { attention, audit, branding, clients, environment, mail, sites } from './administration.ts';
import { appPackages, apps, savedFilters, usage } from './apps.ts';
import { passwords, sessions, tokens } from './auth.ts';
import { accessViews, signingKeys, tickets } from './gate.ts';
import { access, invitations, operations, roles, users } from './users.ts';

/** What the document says about an operation that its schemas do not. */
type Description = readonly [
  /** A short phrase without a full stop. */
  summary: string,
  /** Markdown. */
  description?: string,
  /** Problems beyond those that follow from its path, body and required role. */
  problems?: readonly ProblemCode[],
];

type Procedures = AppRouter['_def']['record'];

/** One description for each procedure of a router. */
export type DescriptionsOf<R extends keyof Procedures> = Record<keyof Procedures[R], Description>;
type AllDescriptions = { [R in keyof Procedures]: DescriptionsOf<R> };

const DESCRIPTIONS: Record<string, Record<string, Description>> = {
  ...{ tokens, sessions, passwords, users, roles, invitations, sites, clients, branding, environment },
  ...{ apps, appPackages, usage, savedFilters, audit, mail, operations, access, attention },
  ...{ accessViews, tickets, signingKeys },
} satisfies AllDescriptions;

/** @param procedure its tRPC path, such as `users.get` */
export const describeProcedure = (procedure: string) => {
  const [router = '', name = ''] = procedure.split('.');
  const described = DESCRIPTIONS[router]?.[name];
  if (!described) throw new Error(`${procedure} has no description.`);
  const [summary, description, problems = []] = described;
  return { summary, description, problems };
};
