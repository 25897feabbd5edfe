import { idOf, timeOf } from '../components/search-params.ts';

/** The client to invite to, as the address states it. With a time: what became of the invitations that were sent then. */
export type InviteSearch = { client?: number | undefined; sent?: string | undefined };

export const inviteSearch = ({ client, sent }: Record<string, unknown>): InviteSearch => ({
  client: idOf(client),
  sent: timeOf(sent),
});
