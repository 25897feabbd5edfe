import { idOf } from '../components/search-params.ts';

/** The client to invite to, as the address states it. */
export type InviteSearch = { client?: number | undefined };

export const inviteSearch = ({ client }: Record<string, unknown>): InviteSearch => ({ client: idOf(client) });
