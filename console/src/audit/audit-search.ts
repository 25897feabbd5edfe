import { dayOf, idOf, oneOf, textOf } from '../components/search-params.ts';

export const AUDIT_KINDS = ['changes', 'logins', 'all'] as const;
export type AuditKind = (typeof AUDIT_KINDS)[number];

/** The filter of the audit trail, from the address. `from` and `to` are days, both inclusive. */
export type AuditFilter = {
  /** Default: changes, or with an actor or chosen actions all entries. */
  kind?: AuditKind | undefined;
  /** The names of actions, separated by commas. The list of actions is loaded with the screen. */
  action?: string | undefined;
  actor?: string | undefined;
  target?: string | undefined;
  /** A person: also changes of groups that name the person as a member. */
  person?: string | undefined;
  client?: number | undefined;
  from?: string | undefined;
  to?: string | undefined;
  /** The saved view that was opened. */
  view?: number | undefined;
};

export const auditFilter = ({
  kind,
  action,
  actor,
  target,
  person,
  client,
  from,
  to,
  view,
}: Record<string, unknown>): AuditFilter => ({
  kind: oneOf(kind, AUDIT_KINDS),
  action: textOf(action),
  actor: textOf(actor),
  target: textOf(target),
  person: textOf(person),
  client: idOf(client),
  from: dayOf(from),
  to: dayOf(to),
  view: idOf(view),
});
