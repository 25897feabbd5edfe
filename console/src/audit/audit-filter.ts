import { dayOf, idOf, textOf } from '../components/search-params.ts';

/** The filter of the audit trail, from the address. `from` and `to` are days, both inclusive. */
export type AuditFilter = {
  /** The name of an action. The list of actions is loaded with the screen. */
  action?: string | undefined;
  actor?: string | undefined;
  target?: string | undefined;
  client?: number | undefined;
  from?: string | undefined;
  to?: string | undefined;
};

export const auditFilter = ({
  action,
  actor,
  target,
  client,
  from,
  to,
}: Record<string, unknown>): AuditFilter => ({
  action: textOf(action),
  actor: textOf(actor),
  target: textOf(target),
  client: idOf(client),
  from: dayOf(from),
  to: dayOf(to),
});
