import { Checkbox, Stack, Text, Title } from '@mantine/core';
import { useQuery, useSuspenseQuery } from '@tanstack/react-query';
import { useDeferredValue } from 'react';
import { type Outputs, trpc } from '../api.ts';
import { useClientName } from '../components/client-select.tsx';
import { DateText } from '../components/date-text.tsx';
import { FormButtons } from '../components/form-buttons.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { type Person, usePersonForm } from './use-person-form.ts';

const listOf = new Intl.ListFormat('en');

const LABELS = [['apps', 'Apps']] as const;

type Props = { person: Person; isReadOnly: boolean; showsGrants: boolean };

/** Which apps the person may open; for admins also who granted them. */
export const PersonApps = ({ person, isReadOnly, showsGrants }: Props) => {
  const { email } = person;
  const clientName = useClientName();
  const isAdmin = person.clientadmin_of.length > 0;
  const apps = useSuspenseQuery(trpc.apps.list.queryOptions({})).data;
  // Superusers see hundreds of apps: their boxes are rendered after the rest of the screen is shown.
  const shown = useDeferredValue(apps, []);
  const grants = useQuery(trpc.access.listByUser.queryOptions({ email }, { enabled: showsGrants }));
  const labelOf = (id: string): string => apps.find((app) => app.id === id)?.label ?? id;
  const describe = (ids: string[]): string => ids.map(labelOf).join(', ');
  const { form, update, buttons, dialog } = usePersonForm(person, {
    name: 'apps',
    labels: LABELS,
    action: 'user.change-apps',
    describe,
  });
  return (
    <form className="card" aria-labelledby="apps" onSubmit={form.onSubmit((values) => update.mutate(values))}>
      <Stack align="flex-start">
        <Title order={2} size="h3" id="apps">
          Apps
        </Title>
        <ProblemAlert error={update.error ?? grants.error} />
        {apps.length === 0 && <Text c="dimmed">There are no apps.</Text>}
        {isAdmin && (
          <Text size="sm">
            Has all apps of {listOf.format(person.clientadmin_of.map(clientName))} as its admin.
          </Text>
        )}
        {(!isAdmin || !isReadOnly) && (
          <Checkbox.Group
            value={form.getValues().apps}
            // In the order of the list, so that selecting an app again is no change.
            onChange={(ids) =>
              form.setValues({ apps: apps.flatMap(({ id }) => (ids.includes(id) ? id : [])) })
            }
            readOnly={isReadOnly}
            label="May open"
          >
            <Stack mt="xs" gap="xs">
              {shown.map(({ id, label }) => (
                <Checkbox
                  key={id}
                  value={id}
                  label={label}
                  description={<Granted grant={grants.data?.find((grant) => grant.app === id)} />}
                  disabled={isReadOnly}
                />
              ))}
            </Stack>
          </Checkbox.Group>
        )}
        {!isReadOnly && <FormButtons save="Save apps" {...buttons} />}
      </Stack>
      {dialog}
    </form>
  );
};

type Grant = Outputs['access']['listByUser'][number];

const Granted = ({ grant }: { grant: Grant | undefined }) =>
  grant?.granted_by ? (
    <>
      Granted by {grant.granted_by} <DateText date={grant.granted_at} />
    </>
  ) : null;
