import { isSuperuser, mayDo, type Roles } from '../session/roles.ts';

type Session = { sends_mail: boolean; roles: Roles };

/**
 * The message after an action that queues a mail. While the service has no mail server, it says where the link of the mail can be copied.
 * @param invitedTo the client, if the mail is an invitation
 */
export const mailMessage = (
  sent: string,
  { sends_mail, roles }: Session,
  invitedTo?: number | null,
): string => {
  if (sends_mail) return sent;
  const queued = 'No mail server is set up, so the mail stays queued.';
  if (typeof invitedTo === 'number' && mayDo(roles, 'manage-people', invitedTo))
    return `${queued} “Show the link” in the actions of the invitation shows what you can pass on yourself.`;
  return isSuperuser(roles)
    ? `${queued} You can copy its link under Mails.`
    : `${queued} A superuser can copy its link under Mails.`;
};
