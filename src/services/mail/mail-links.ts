import { type Actor, administersClient } from '../access/actor.ts';

/** Where mails go: nowhere at all without a mail server. */
export type MailRoute = { hasServer: boolean; perMinute: number };

/**
 * Who is shown the link of an invitation. It proves that its bearer reads the mail of that address; an inviter who
 * has it could make the account themselves, and wait for others to trust it.
 */
export const showsInvitationLink = (actor: Actor, clientId: number, { hasServer }: MailRoute): boolean =>
  hasServer ? actor.isSuperuser : administersClient(actor, clientId);

/** One that sets a password gives its account away: it is shown to superusers, and only where no mail brings it. */
export const showsPasswordLink = (actor: Actor, { hasServer }: MailRoute): boolean =>
  actor.isSuperuser && !hasServer;
