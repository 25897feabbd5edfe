import { Button, Code, Group, List, Skeleton, Table, Text } from '@mantine/core';
import { useQuery, useSuspenseQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { type FormEvent, type ReactNode, useState } from 'react';
import { type Outputs, trpc } from '../api.ts';
import { useClientOfApp } from '../apps/app-of.ts';
import { PersonInput } from '../components/person-input.tsx';
import { PersonLink } from '../components/person-link.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { ScreenHeader } from '../components/screen-header.tsx';
import { StatusText } from '../components/status-text.tsx';

const route = getRouteApi('/apps/$id/compare');

type Compared = Outputs['apps']['compare']['people'][number];

/** What two people have in the client of an app, side by side, with the differences marked. */
export const CompareScreen = () => {
  const { id } = route.useParams();
  const { one = '', other = '' } = route.useSearch();
  const app = useSuspenseQuery(trpc.apps.get.queryOptions({ app_id: id })).data;
  const client = useClientOfApp(id);
  const isComplete = one !== '' && other !== '';
  const compared = useQuery(
    trpc.apps.compare.queryOptions({ app_id: id, people: `${one},${other}` }, { enabled: isComplete }),
  );
  return (
    <>
      <ScreenHeader
        title={`Compare two people in ${app.label}`}
        lead={
          <Link className="text-link" to="/apps/$id" params={{ id }} search={{ tab: 'people' }}>
            Back to the people of the app
          </Link>
        }
      />
      <Choice key={`${one} ${other}`} client={client} one={one} other={other} />
      <ProblemAlert error={compared.error} />
      {isComplete && compared.isPending && <Skeleton height={240} />}
      {compared.data && <Comparison people={compared.data.people} />}
    </>
  );
};

type ChoiceProps = { client: number; one: string; other: string };

const Choice = ({ client, ...chosen }: ChoiceProps) => {
  const navigate = route.useNavigate();
  const [one, setOne] = useState(chosen.one);
  const [other, setOther] = useState(chosen.other);
  const emails = [one, other].map((text) => text.trim().toLowerCase());
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    void navigate({ search: { one: emails[0], other: emails[1] }, replace: true });
  };
  const input = { placeholder: 'Name or email address', flex: '1 1 14rem', maw: 400, among: { client } };
  return (
    <form onSubmit={submit} aria-label="Compare two people">
      <Group mb="md" gap="xs" align="end">
        <PersonInput label="One person" value={one} onChange={setOne} {...input} />
        <PersonInput label="Another person" value={other} onChange={setOther} {...input} />
        <Button type="submit" disabled={!emails.every((email) => email.includes('@'))}>
          Compare
        </Button>
      </Group>
    </form>
  );
};

const WAYS = { grant: 'Granted directly', group: 'Group', role: 'Role' } as const;

/** Rows of the comparison: what is compared, and how it is shown. */
const ROWS: [
  label: string,
  value: (person: Compared) => readonly string[] | string,
  show?: (person: Compared) => ReactNode,
][] = [
  [
    'May open it',
    ({ allowed }) => String(allowed),
    ({ allowed }) => <StatusText label={allowed ? 'Yes' : 'No'} color={allowed ? 'green' : 'red'} />,
  ],
  ['Account', ({ is_active }) => (is_active ? 'Active' : 'Suspended')],
  ['Roles', ({ roles }) => roles.map((role) => role.replaceAll('-', ' '))],
  ['Groups', ({ groups }) => groups],
  [
    'Data permissions',
    ({ data_permissions }) => JSON.stringify(data_permissions, null, 2),
    ({ data_permissions: permissions }) =>
      permissions === null ? 'None' : <Code block>{JSON.stringify(permissions, null, 2)}</Code>,
  ],
  [
    'What gives it',
    ({ paths }) =>
      paths.map(({ kind, role, group }) => [WAYS[kind], role ?? group?.name].filter(Boolean).join(': ')),
  ],
  ['What keeps them out', ({ blockers }) => blockers.map(({ detail }) => detail)],
];

const Comparison = ({ people }: { people: readonly Compared[] }) => (
  <Table aria-label="Comparison" className="card" layout="fixed" verticalSpacing="sm">
    <Table.Thead>
      <Table.Tr>
        <Table.Td />
        {people.map((person) => (
          <Table.Th key={person.email} scope="col">
            <PersonLink person={person} />
          </Table.Th>
        ))}
      </Table.Tr>
    </Table.Thead>
    <Table.Tbody>
      {ROWS.map(([label, compared, show]) => {
        const isDifferent = new Set(people.map((person) => JSON.stringify(compared(person)))).size > 1;
        return (
          <Table.Tr key={label} {...(isDifferent && { bg: 'var(--console-notice)' })}>
            <Table.Th scope="row">
              {label}
              {isDifferent && (
                <Text size="sm" c="dimmed" fw={400}>
                  Different
                </Text>
              )}
            </Table.Th>
            {people.map((person) => (
              <Table.Td key={person.email} className="break-words">
                {show ? show(person) : <Values values={compared(person)} />}
              </Table.Td>
            ))}
          </Table.Tr>
        );
      })}
    </Table.Tbody>
  </Table>
);

const Values = ({ values }: { values: readonly string[] | string }) => {
  if (typeof values === 'string') return values;
  if (values.length === 0) return <Text c="dimmed">None</Text>;
  return (
    <List listStyleType="none">
      {values.map((value) => (
        <List.Item key={value}>{value}</List.Item>
      ))}
    </List>
  );
};
