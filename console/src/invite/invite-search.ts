import { idOf, timeOf } from '../components/search-params.ts';

/** The client to invite to, from the address. With a time: the outcome of the invitations that were sent then. */
export type InviteSearch = { client?: number | undefined; sent?: string | undefined };

export const inviteSearch = ({ client, sent }: Record<string, unknown>): InviteSearch => ({
  client: idOf(client),
  sent: timeOf(sent),
});
