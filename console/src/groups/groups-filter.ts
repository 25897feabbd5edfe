/** The client whose groups are listed, from the address. */
export type GroupsFilter = { client?: number | undefined };

export const groupsFilter = ({ client }: Record<string, unknown>): GroupsFilter => ({
  client: typeof client === 'number' ? client : undefined,
});
