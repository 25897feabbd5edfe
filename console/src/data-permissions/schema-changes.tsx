import { Anchor, Group, Stack, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import type { Outputs } from '../api.ts';
import { useAppLabels } from '../components/changes.tsx';
import { StatusText } from '../components/status-text.tsx';
import { textOf } from './declared.ts';

type Changes = Outputs['dataPermissions']['previewLoad'];
type Change = Changes['people'][number];

/** Whom a new schema touches: how many lose and gain access, and the first people. */
export const SchemaChanges = ({ changes: { touched, losing, gaining, people } }: { changes: Changes }) => (
  <Stack gap="xs" role="status">
    <Text>
      {summaryOf({ touched, losing, gaining })}
      {new Set(people.map(({ app_id }) => app_id)).size > 1 && ' A person counts once for each app.'}
    </Text>
    {people.length > 0 && (
      <Stack component="ul" m={0} p={0} gap="xs" className="divided day-table">
        {people.map((change) => (
          <Person key={`${change.email} ${change.app_id}`} change={change} />
        ))}
      </Stack>
    )}
    {touched > people.length && (
      <Text size="sm" c="dimmed">
        And {(touched - people.length).toLocaleString()} more.
      </Text>
    )}
  </Stack>
);

/** `Touches 12 people. 2 people lose access, no one gains it.` */
const summaryOf = ({ touched, losing, gaining }: Omit<Changes, 'people'>): string => {
  if (touched === 0) return 'Changes nothing for anyone.';
  const lose = losing === 0 ? 'No one loses' : `${countOf(losing)} ${losing === 1 ? 'loses' : 'lose'}`;
  const gain = gaining === 0 ? 'no one gains' : `${countOf(gaining)} ${gaining === 1 ? 'gains' : 'gain'}`;
  return `Touches ${countOf(touched)}. ${lose} access, ${gain} it.`;
};

const countOf = (people: number): string => (people === 1 ? '1 person' : `${people.toLocaleString()} people`);

const Person = ({ change: { email, app_id: app, before, after } }: { change: Change }) => {
  const appLabels = useAppLabels();
  return (
    <li className="break-words">
      <Group gap="xs">
        <Anchor component={Link} to={`/people/${email}`} size="sm">
          {email}
        </Anchor>
        <Text span size="sm">
          {appLabels.get(app) ?? app}
        </Text>
        {before.allowed && !after.allowed && <StatusText label="Loses access" color="red" />}
        {!before.allowed && after.allowed && <StatusText label="Gains access" color="green" />}
      </Group>
      <Text size="sm" c="dimmed">
        {after.detail === '' ? `Gets ${valuesText(after.data_permissions)}` : `${after.detail}.`}
        {after.detail === '' && ` instead of ${valuesText(before.data_permissions)}.`}
      </Text>
    </li>
  );
};

const valuesText = (values: Record<string, unknown> | null): string =>
  values === null
    ? 'nothing'
    : Object.entries(values)
        .map(([key, value]) => `${key}: ${textOf(value)}`)
        .join('; ');
