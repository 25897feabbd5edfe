import { OutboxMail } from '../../../entities/outbox-mail.ts';
import type { Em } from '../../db/kysely.ts';
import { type FieldErrors, invalid, userExists } from '../../lib/problems.ts';
import { type Actor, soleClient } from '../access/actor.ts';
import { can } from '../access/permissions.ts';
import { findUserId } from '../accounts/addresses.ts';
import { addUser } from '../accounts/new-accounts.ts';
import { readUser, type UserDetail } from '../accounts/user-rows.ts';
import { type AuditEvent, ofUser } from '../audit/audit.ts';
import { newMail } from '../outbox/enqueue-mails.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { changeAccess, findGrantable, grantEvents, unknownApp } from './app-grants.ts';
import { rethrowAsTaken } from './email-changes.ts';

type UserInput = {
  email: string;
  first_name: string;
  last_name: string;
  extra: Record<string, unknown>;
  is_demo_user: boolean;
  apps: string[];
  client?: number | undefined;
  send_email: boolean;
};

export const createUserCreation = ({ em, clock, audit }: UnitOfWork) => ({
  /**
   * Creates a user without a password, and enqueues the mail to set one if requested.
   * @throws Problem `user-exists`, `invalid-input` on `email`, `apps`, `client`
   */
  create: (actor: Actor, input: UserInput): Promise<UserDetail> => {
    const creation = em.transactional(async (tx) => {
      const { apps, clients } = await resolveTargets(tx, actor, input);
      const now = clock.now();
      const { email, first_name: firstName, last_name: lastName, extra, is_demo_user: isDemoUser } = input;
      const user = await addUser(tx, { email, firstName, lastName, extra, isDemoUser }, now);
      if (input.send_email)
        tx.create(OutboxMail, { kind: 'password-setup', user, recipient: email, ...newMail(now) });
      await tx.flush();
      await changeAccess(tx, { by: actor.id, now }, [
        { userId: user.id, granted: apps, revoked: [], joined: [...clients] },
      ]);
      const event: AuditEvent = { action: 'user.create', actor, target: ofUser(user), clients: [...clients] };
      await audit.record(tx, [event, ...grantEvents(actor, user, apps)]);
      return readUser(tx, actor, now, email);
    });
    return creation.catch(rethrowAsTaken('email'));
  },
});

/**
 * Determines the apps and clients of a new user: the clients of the apps, and the given client or the actor's only one. Without any, a
 * superuser's new user belongs to no client. The unique constraint decides whether the address is free. A taken address is reported
 * together with other errors only if the actor may see its user: otherwise, a failing request would reveal addresses of other clients.
 */
const resolveTargets = async (tx: Em, actor: Actor, input: UserInput) => {
  if (input.client !== undefined && !can(actor, 'manage-people', input.client)) {
    throw invalid({ client: [`There is no client ${input.client} to which you may add users.`] });
  }
  const fields: FieldErrors = {};
  const { apps, unknown } = await findGrantable(tx, actor, input.apps);
  if (unknown.length > 0) fields.apps = unknown.map(unknownApp);
  const holder = await findUserId(tx, actor, input.email);

  const clients = new Set(apps.map((app) => app.client_id));
  const own = input.client ?? soleClient(actor, 'manage-people');
  if (own !== undefined) clients.add(own);
  if (clients.size === 0 && unknown.length === 0 && !can(actor, 'administer'))
    fields.client = [CLIENT_REQUIRED];
  if (holder !== undefined) throw userExists(fields);
  if (Object.keys(fields).length > 0) throw invalid(fields);
  return { apps, clients };
};

const CLIENT_REQUIRED =
  'You administer several clients. Send `client`, the id of the one to join (GET /api/v1/jb/clients/ lists them), or `apps`, ids of its apps.';
