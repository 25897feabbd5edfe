import { type Actor, administersClient } from '../access/actor.ts';

/** Whether a mail server is configured, and its rate limit. */
export type MailRoute = { hasServer: boolean; perMinute: number };

/**
 * Whether the actor may see the link of an invitation. The link proves access to the mailbox: an inviter who has it could
 * create the account themselves and wait until others trust it.
 */
export const showsInvitationLink = (actor: Actor, clientId: number, { hasServer }: MailRoute): boolean =>
  hasServer ? actor.isSuperuser : administersClient(actor, clientId);

/** A password link gives access to the account. Only superusers may see it, and only without a mail server. */
export const showsPasswordLink = (actor: Actor, { hasServer }: MailRoute): boolean =>
  actor.isSuperuser && !hasServer;
