import { Membership } from '../../../entities/client.ts';
import type { EndedPart } from '../../../entities/operation.ts';
import type { User } from '../../../entities/user.ts';
import { canonicalJson } from '../../lib/json-value.ts';
import { notFound } from '../../lib/problems.ts';
import { type Actor, requireIn, requireUserUpdatable } from '../access/actor.ts';
import { can } from '../access/permissions.ts';
import { lockUser } from '../accounts/user-locks.ts';
import { requireValidValues } from '../attributes/stated-values.ts';
import { type AuditEvent, ofUser, type Transaction } from '../audit/audit.ts';

/** `value` undefined: removes the attribute. */
type NewValue = { client: number; key: string; value: unknown };

/**
 * Sets one attribute in the data permissions of a membership, and keeps the others.
 * @throws Problem `not-found`, `forbidden`, `client-admin-locked`, `invalid-input` on `attributes`
 */
export const setAttribute = async (deps: Transaction, actor: Actor, email: string, to: NewValue) => {
  const { tx, audit } = deps;
  const { client, key, value } = to;
  requireIn(actor, 'manage-people', client);
  if (value !== undefined) await requireValidValues(tx, { clientId: client, appId: null }, { [key]: value });
  const { user } = await lockUser(tx, actor, email, requireUserUpdatable);
  const membership = await tx.findOne(Membership, { user: user.id, client });
  if (!membership) throw notFound('member');
  const before = membership.extra[key];
  const isChanged = !isSame(before, value);
  if (isChanged) {
    await writeAttribute(deps, membership, { key, value });
    await audit.record(tx, [eventOf(actor, user, client)]);
  }
  const part: EndedPart = { kind: 'attribute', key: `${key}:${client}`, before, after: value };
  return { isChanged, userId: user.id, parts: isChanged ? [part] : [] };
};

/** Gives back the values that an operation has replaced, unless they were changed since. Returns these parts. */
export const returnAttributes = async (
  deps: Transaction,
  actor: Actor,
  user: User,
  parts: readonly EndedPart[],
) => {
  const returned: EndedPart[] = [];
  const events: AuditEvent[] = [];
  for (const part of parts.filter(({ kind }) => kind === 'attribute')) {
    const [key = '', client] = part.key.split(':');
    const membership = await deps.tx.findOne(Membership, { user: user.id, client: Number(client) });
    if (!membership || !can(actor, 'manage-people', Number(client))) continue;
    if (!isSame(membership.extra[key], part.after)) continue;
    await writeAttribute(deps, membership, { key, value: part.before });
    events.push(eventOf(actor, user, Number(client)));
    returned.push(part);
  }
  return { parts: returned, events };
};

/** Unlike null, undefined is no value. */
const isSame = (one: unknown, other: unknown): boolean =>
  (one === undefined) === (other === undefined) && canonicalJson(one) === canonicalJson(other);

const writeAttribute = async (
  { tx }: Transaction,
  membership: Membership,
  { key, value }: Omit<NewValue, 'client'>,
): Promise<void> => {
  const { [key]: _, ...others } = membership.extra;
  membership.extra = value === undefined ? others : { ...others, [key]: value };
  await tx.flush();
};

/** Values may be sensitive: the audit trail has no value. */
const eventOf = (actor: Actor, user: User, client: number): AuditEvent => ({
  action: 'membership.update',
  actor,
  target: ofUser(user),
  clients: [client],
  details: { extra: { from: null, to: null } },
});
