/** The client and the people that the matrix shows, as the address states them. */
export type AccessFilter = { client?: number | undefined; search?: string | undefined };

export const accessFilter = ({ client, search }: Record<string, unknown>): AccessFilter => ({
  client: typeof client === 'number' ? client : undefined,
  search: typeof search === 'string' || typeof search === 'number' ? String(search) : undefined,
});
