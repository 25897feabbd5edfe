import type { AnyTRPCProcedure } from '@trpc/server';
import type { OpenApiMeta } from 'trpc-to-openapi';
import { appRouter } from '../routers/index.ts';
import type { ProcedureMeta } from '../routers/procedure-meta.ts';

/** At run time the record is flat, with names such as `users.get`; only its type is nested. */
const procedures = appRouter._def.procedures as unknown as Record<
  string,
  AnyTRPCProcedure & { _def: { meta?: OpenApiMeta<ProcedureMeta> } }
>;

/** The lines of `procedures` in the declaration of `resolved` that begin a noun or a verb. */
const MEMBERS = /^ {8}(?<noun>\w+): \{$|^ {12}(?<verb>\w+): \{$/gm;

/** Adds to each procedure the comment that editors show for `api.users.list`: the compiler does not take it from the router. */
export const withDescriptions = (declarations: string): string => {
  let noun = '';
  return declarations.replaceAll(MEMBERS, (line, router: string | undefined, verb: string) => {
    noun = router ?? noun;
    const procedure = router === undefined && procedures[`${noun}.${verb}`];
    return procedure ? `${commentOf(procedure._def.meta ?? {})}\n${line}` : line;
  });
};

const commentOf = ({ openapi, role, isPublic }: OpenApiMeta<ProcedureMeta>): string => {
  const roles = role === undefined ? 'For all users.' : `Requires the role ${role}.`;
  const paragraphs = openapi
    ? [`${openapi.summary}.`, openapi.description, isPublic ? 'Requires no login.' : roles]
    : ['For a screen of the console, and changes with it.', roles];
  const text = paragraphs.filter(Boolean).join('\n\n').replaceAll('*/', '*\\/');
  return `            /**\n${text.replaceAll(/^.*$/gm, (line) => `             * ${line}`.trimEnd())}\n             */`;
};
