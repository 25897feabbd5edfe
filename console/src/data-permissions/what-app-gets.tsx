import { List, Skeleton, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type Outputs, trpc } from '../api.ts';
import { Dialog } from '../components/dialog.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { textOf } from './declared.ts';
import { ValueRows } from './value-rows.tsx';

type Given = Outputs['dataPermissions']['ofPerson'];
type Source = Given['attributes'][number]['sources'][number];

type Props = { email: string; app: { id: string; label: string } };

export const WhatAppGetsDialog = ({
  name,
  onClose,
  ...props
}: Props & { name: string; onClose: () => void }) => (
  <Dialog isOpen onClose={onClose} title={`What ${props.app.label} gets about ${name}`}>
    <WhatAppGets {...props} isAlone />
  </Dialog>
);

/** The data permissions of a person in an app: each value, where it comes from, and which values it overrides. */
export const WhatAppGets = ({ email, app, isAlone = false }: Props & { isAlone?: boolean }) => {
  const { data, error } = useQuery(
    trpc.dataPermissions.ofPerson.queryOptions({ email, app_id: app.id }, { staleTime: 0 }),
  );
  if (error) return <ProblemAlert error={error} />;
  if (!data) return <Skeleton height={80} />;
  const isEmpty = data.attributes.length === 0 && data.data_permissions === null;
  if (isEmpty && data.faults.length === 0)
    return isAlone ? <Text>{app.label} gets no data permissions of this person.</Text> : null;
  const isReceived = data.allowed && (data.mode === 'enforce' || !data.has_schema);
  return (
    <Stack gap="xs">
      {!isAlone && (
        <Title order={3} size="h5">
          What {app.label} {isReceived ? 'gets' : 'would get'}
        </Title>
      )}
      {isAlone && <Faults given={data} />}
      <Attributes given={data} />
      {data.has_schema && data.mode === 'warn' && <AsGiven given={data} app={app} />}
    </Stack>
  );
};

const Attributes = ({ given: { has_schema, attributes, data_permissions } }: { given: Given }) => {
  if (!has_schema) return data_permissions && <ValueRows values={data_permissions} />;
  return (
    <List listStyleType="none" spacing="xs">
      {attributes.map(({ key, title, value, sources, overrides }) => (
        <List.Item key={key} className="break-words">
          {title || key}: <strong>{textOf(value)}</strong>
          <Text size="sm" c="dimmed">
            From {namesOf(sources)}
            {overrides.map((other) => ` · instead of ${textOf(other.value)} from ${namesOf(other.sources)}`)}
          </Text>
        </List.Item>
      ))}
    </List>
  );
};

/** With the mode `warn`, the app does not get the values by the schema yet. */
const AsGiven = ({ given: { data_permissions: values }, app }: { given: Given; app: Props['app'] }) => (
  <Text component="div" size="sm" c="dimmed" className="break-words">
    The client only warns so far: until it enforces its data permissions, {app.label} gets{' '}
    {values === null ? 'nothing.' : 'these values:'}
    {values !== null && <ValueRows values={values} />}
  </Text>
);

const Faults = ({ given: { faults, fix } }: { given: Given }) =>
  faults.length > 0 && (
    <div>
      <List listStyleType={faults.length === 1 ? 'none' : 'disc'}>
        {faults.map(({ key, message }) => (
          <List.Item key={`${key} ${message}`} c="var(--mantine-color-error)">
            {key} {message}.
          </List.Item>
        ))}
      </List>
      <Text size="sm">{fix}</Text>
    </div>
  );

const NAMES: Record<Source['from'], string> = {
  package: 'the default of the package',
  client: 'the default of the client',
  group: 'the group',
  claim: 'the identity provider',
  membership: 'the data of the person',
  grant: 'the grant',
  view: 'the share link',
};

const namesOf = (sources: readonly Source[]): string =>
  LIST.format(sources.map(({ from, name }) => (name === null ? NAMES[from] : `${NAMES[from]} ${name}`)));

const LIST = new Intl.ListFormat('en');
