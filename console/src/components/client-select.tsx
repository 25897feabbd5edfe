import { Select } from '@mantine/core';
import { useSuspenseQuery } from '@tanstack/react-query';
import { trpc } from '../api.ts';

/** The clients that the user may see, by name. */
export const useClients = () => useSuspenseQuery(trpc.clients.list.queryOptions({})).data;

type Props = { value: number | undefined; onChange: (client: number | undefined) => void };

/** A filter by client, for users who see several. */
export const ClientSelect = ({ value, onChange }: Props) => {
  const clients = useClients();
  if (clients.length < 2) return null;
  return (
    <Select
      aria-label="Client"
      placeholder="All clients"
      clearable
      flex="1 1 8rem"
      maw={320}
      searchable
      data={clients.map(({ id, name }) => ({ value: String(id), label: name }))}
      value={value === undefined ? null : String(value)}
      onChange={(id) => onChange(id === null ? undefined : Number(id))}
    />
  );
};

/** The name of a client by its id; the id of one that is not visible. */
export const useClientName = (): ((id: number | null) => string) => {
  const names = new Map(useClients().map(({ id, name }) => [id, name]));
  return (id) => (id === null ? '' : (names.get(id) ?? `#${id}`));
};
