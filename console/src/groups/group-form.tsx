import { MultiSelect, type MultiSelectProps, Stack, Text, TextInput, Title } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type Outputs, steward, trpc } from '../api.ts';
import { useAppLabels } from '../components/changes.tsx';
import { FormButtons } from '../components/form-buttons.tsx';
import { useRecordForm } from '../components/use-record-form.tsx';
import { useAccessRefresh } from '../live/use-access-refresh.ts';

const LABELS = [
  ['name', 'Name'],
  ['apps', 'Apps'],
] as const;

type GroupScreenData = Outputs['groups']['screen'];
type Fields = Pick<GroupScreenData, 'name' | 'apps'>;
type Props = { group: GroupScreenData; isReadOnly: boolean };

/** The name and the apps of a group. */
export const GroupForm = ({ group, isReadOnly }: Props) => {
  const { form, update, buttons, dialog } = useGroupForm(group);
  return (
    <form
      className="card"
      aria-labelledby="apps-of-group"
      onSubmit={form.onSubmit((values) => update.mutate(values))}
    >
      <Stack>
        <Title order={2} size="h3" id="apps-of-group">
          {isReadOnly ? 'Apps' : 'Name and apps'}
        </Title>
        {isReadOnly ? (
          <AppNames apps={group.apps} />
        ) : (
          <>
            <TextInput label="Name" required maxLength={100} {...form.getInputProps('name')} />
            <GroupApps client={group.client} {...form.getInputProps('apps')} />
            <Losses group={group} apps={form.getValues().apps} />
            <FormButtons {...buttons} />
          </>
        )}
      </Stack>
      {dialog}
    </form>
  );
};

const useGroupForm = (group: GroupScreenData) => {
  const queryClient = useQueryClient();
  const refresh = useAccessRefresh();
  const appLabels = useAppLabels();
  const ids = { id: group.client, group_id: group.id };
  const query = trpc.groups.screen.queryOptions(ids, { staleTime: 0 });
  return useRecordForm<Fields, 'name' | 'apps'>({
    name: 'group',
    record: group,
    labels: LABELS,
    describe: (value) =>
      typeof value === 'string' ? value : value.map((id) => appLabels.get(id) ?? id).join(', '),
    history: { action: 'group.update', target: group.name },
    read: () => queryClient.fetchQuery(query),
    save: (input) => steward.api.groups.edit.mutate({ ...ids, ...input }),
    onSaved: () => void refresh(),
  });
};

const AppNames = ({ apps }: { apps: readonly string[] }) => {
  const appLabels = useAppLabels();
  return <Text>{apps.map((id) => appLabels.get(id) ?? id).join(', ') || 'None'}</Text>;
};

/** Who would lose the removed apps. */
const Losses = ({ group: { losses }, apps }: { group: GroupScreenData; apps: readonly string[] }) => {
  const appLabels = useAppLabels();
  return losses
    .filter(({ app }) => !apps.includes(app))
    .map(({ app, people }) => (
      <Text key={app} size="sm" role="status">
        {people === 1 ? '1 person loses' : `${people.toLocaleString()} people lose`}{' '}
        {appLabels.get(app) ?? app}: only this group gives it to them.
      </Text>
    ));
};

type AppsProps = MultiSelectProps & { client: number; value?: string[]; onChange?: (apps: string[]) => void };

/** Chooses apps of a client by name. Keeps them in the order of the list, so that removing and adding an app is no change. */
const GroupApps = ({ client, value = [], onChange, ...props }: AppsProps) => {
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
