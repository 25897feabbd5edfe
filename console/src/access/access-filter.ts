/** The client and the people of the matrix, from the address. */
export type AccessFilter = { client?: number | undefined; search?: string | undefined };

export const accessFilter = ({ client, search }: Record<string, unknown>): AccessFilter => ({
  client: typeof client === 'number' ? client : undefined,
  search: typeof search === 'string' || typeof search === 'number' ? String(search) : undefined,
});
