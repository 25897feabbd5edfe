import { Button, Checkbox, Stack, Text, Title } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useMutation, useQueryClient, useSuspenseQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { trpc } from '../api.ts';
import { ProblemAlert } from '../components/problem-alert.tsx';
import type { Person } from './profile-form.tsx';

type Props = { person: Person; isReadOnly: boolean };

/** Which apps the person may open. */
export const PersonApps = ({ person, isReadOnly }: Props) => {
  const { email } = person;
  const queryClient = useQueryClient();
  const apps = useSuspenseQuery(trpc.apps.list.queryOptions({})).data;
  const [selected, setSelected] = useState(person.apps);
  const update = useMutation(
    trpc.users.update.mutationOptions({
      onSuccess: (updated) => {
        queryClient.setQueryData(trpc.users.get.queryKey({ email }), updated);
        void queryClient.invalidateQueries(trpc.users.list.pathFilter());
        void queryClient.invalidateQueries(trpc.audit.list.pathFilter());
        setSelected(updated.apps);
        notifications.show({ message: 'Saved.' });
      },
    }),
  );
  const isChanged = selected.toSorted().join() !== person.apps.toSorted().join();
  return (
    <Stack className="card" align="flex-start">
      <Title order={2} size="h3">
        Apps
      </Title>
      <ProblemAlert error={update.error} />
      {apps.length === 0 && <Text c="dimmed">There are no apps.</Text>}
      <Checkbox.Group value={selected} onChange={setSelected} readOnly={isReadOnly} label="May open">
        <Stack mt="xs" gap="xs">
          {apps.map(({ id, label }) => (
            <Checkbox key={id} value={id} label={label} disabled={isReadOnly} />
          ))}
        </Stack>
      </Checkbox.Group>
      {!isReadOnly && (
        <Button
          disabled={!isChanged}
          loading={update.isPending}
          onClick={() => update.mutate({ email, apps: selected })}
        >
          Save apps
        </Button>
      )}
    </Stack>
  );
};
