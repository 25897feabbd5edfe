import { MultiSelect, type MultiSelectProps } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { trpc } from '../api.ts';

type Props = MultiSelectProps & { client: number; value?: string[]; onChange?: (apps: string[]) => void };

/** Chooses apps of a client by name. Keeps them in the order of the list, so that removing and adding an app is no change. */
export const GroupApps = ({ client, value = [], onChange, ...props }: Props) => {
  const apps = useQuery(trpc.apps.list.queryOptions({ client })).data;
  const inOrder = (ids: string[]): string[] =>
    apps ? apps.flatMap(({ id }) => (ids.includes(id) ? id : [])) : ids;
  return (
    <MultiSelect
      {...props}
      label="Apps"
      description="What all members may open."
      {...(value.length === 0 && { placeholder: 'Choose apps' })}
      searchable
      hidePickedOptions
      // The ids, until the apps are loaded.
      data={apps?.map(({ id, label }) => ({ value: id, label })) ?? value}
      value={value}
      onChange={(ids) => onChange?.(inOrder(ids))}
      clearButtonProps={{ 'aria-label': 'Remove all apps' }}
    />
  );
};
