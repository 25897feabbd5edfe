import { idOf, oneOf, textOf } from '../components/search-params.ts';

export const STATUS_FILTERS = ['pending', 'accepted', 'expired', 'revoked', 'all'] as const;

type StatusFilter = (typeof STATUS_FILTERS)[number];

/** The filter of the list of invitations, from the address. Without a status, pending ones are shown. */
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
