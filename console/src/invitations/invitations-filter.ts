import { idOf, oneOf, textOf } from '../components/search-params.ts';

export const STATUS_FILTERS = ['pending', 'accepted', 'expired', 'revoked', 'all'] as const;

type StatusFilter = (typeof STATUS_FILTERS)[number];

/** The filter of the list of invitations, as the address states it. Without a status, it shows pending ones. */
export type InvitationsFilter = {
  search?: string | undefined;
  status?: StatusFilter | undefined;
  client?: number | undefined;
};

export const invitationsFilter = ({
  search,
  status,
  client,
}: Record<string, unknown>): InvitationsFilter => ({
  search: textOf(search),
  status: oneOf(status, STATUS_FILTERS),
  client: idOf(client),
});
