import { Button, Group, List, Radio, Skeleton, Stack, Text, Textarea, Title } from '@mantine/core';
import { useForm } from '@mantine/form';
import { fieldErrors } from '@steward/client';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type Outputs, steward, trpc } from '../api.ts';
import { FlagText } from '../components/flag-field.tsx';
import { objectFault, objectText, parseObject } from '../components/json-object.ts';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { notify } from '../components/toasts.ts';
import { useUnsavedWork } from '../components/unsaved-work.ts';
import { SchemaChanges } from '../data-permissions/schema-changes.tsx';

type Declarations = Outputs['dataPermissions']['getSchema'];
type Props = { id: number; isReadOnly: boolean };

/** The data permissions that the client and its apps declare, and whether wrong values keep apps closed. */
export const ClientAttributes = ({ id, isReadOnly }: Props) => {
  const declared = useQuery(trpc.dataPermissions.getSchema.queryOptions({ id }));
  return (
    <>
      <ProblemAlert error={declared.error} />
      {declared.isPending && <Skeleton height={320} />}
      {declared.data && (
        <Stack>
          <AttributesForm id={id} isReadOnly={isReadOnly} declared={declared.data} />
          <DeclaringApps apps={declared.data.apps} />
        </Stack>
      )}
    </>
  );
};

const MODES = [
  {
    value: 'warn',
    label: 'Warn',
    description: 'Apps open as before and get the data of the person as it is. “Why?” shows what is wrong.',
  },
  {
    value: 'enforce',
    label: 'Enforce',
    description:
      'Apps get the values of these attributes, and do not open for people whose values are wrong.',
  },
] as const;

const EXAMPLE = `{
  "properties": {
    "region": {
      "title": "Regions",
      "type": "array",
      "items": { "type": "string", "enum": ["North", "South"] }
    }
  }
}`;

type Values = { schema: string; mode: Declarations['mode'] };

const valuesOf = ({ schema, mode }: Declarations): Values => ({ schema: objectText(schema ?? {}), mode });

const inputOf = ({ schema, mode }: Values) => ({
  schema: schema.trim() === '' ? null : parseObject(schema),
  mode,
});

const AttributesForm = ({ id, isReadOnly, declared }: Props & { declared: Declarations }) => {
  const queryClient = useQueryClient();
  const form = useForm({ initialValues: valuesOf(declared), validate: { schema: objectFault } });
  useUnsavedWork(form.isDirty());
  const send = useMutation({
    mutationFn: ({ isPreview, values }: { isPreview: boolean; values: Values }) =>
      steward.api.dataPermissions.setSchema.mutate({ id, ...inputOf(values), dry_run: isPreview }),
    onSuccess: (_changes, { isPreview, values }) => {
      if (isPreview) return;
      form.resetDirty(values);
      notify('Saved the data permissions of the client.');
      for (const router of [trpc.dataPermissions, trpc.access, trpc.audit])
        void queryClient.invalidateQueries(router.pathFilter());
    },
  });
  const { schema, mode } = form.values;
  if (isReadOnly)
    return (
      <Stack className="card">
        <FlagText label="Enforced" isOn={mode === 'enforce'} />
        {schema !== '' && <Textarea label="Attributes" classNames={CODE} autosize readOnly value={schema} />}
        <Text c="dimmed">Only client admins and superusers can change this.</Text>
      </Stack>
    );
  /** Forgets the last preview, which was of other values. */
  const change = (changes: Partial<Values>): void => {
    send.reset();
    form.setValues(changes);
  };
  const isPreviewed = send.isSuccess && send.variables.isPreview;
  const faults = Object.entries(fieldErrors(send.error)).map(
    ([path, messages]) => `${path.replace(/^schema\.?/, '')} ${messages.join(' ')}`,
  );
  return (
    <form
      className="card"
      aria-label="Data permissions"
      onSubmit={form.onSubmit((values) => send.mutate({ isPreview: !isPreviewed, values }))}
    >
      <Stack maw={640}>
        <Radio.Group
          label="Wrong values"
          value={mode}
          onChange={(chosen) =>
            change({ mode: MODES.find(({ value }) => value === chosen)?.value ?? 'warn' })
          }
        >
          <Stack gap="xs" mt="xs">
            {MODES.map((one) => (
              <Radio key={one.value} {...one} />
            ))}
          </Stack>
        </Radio.Group>
        <Textarea
          label="Attributes that several apps share"
          description="A JSON Schema, or empty. Apps declare their own in their packages."
          classNames={CODE}
          autosize
          minRows={8}
          maxRows={24}
          spellCheck={false}
          value={schema}
          error={form.errors.schema ?? (faults.length > 0 ? faults.join('; ') : undefined)}
          onChange={({ currentTarget: { value } }) => change({ schema: value })}
        />
        {faults.length === 0 && <ProblemAlert error={send.error} />}
        {isPreviewed && send.data && <SchemaChanges changes={send.data} />}
        <Group>
          <Button type="submit" loading={send.isPending} disabled={!form.isDirty()}>
            {isPreviewed ? 'Save' : 'Preview'}
          </Button>
          <Button
            variant="default"
            disabled={!form.isDirty()}
            onClick={() => {
              send.reset();
              form.reset();
            }}
          >
            Discard
          </Button>
          {schema === '' && (
            <Button variant="subtle" onClick={() => change({ schema: EXAMPLE })}>
              Begin with an example
            </Button>
          )}
        </Group>
      </Stack>
    </form>
  );
};

const CODE = { input: 'html-input' };

/** The apps whose packages declare attributes or roles. */
const DeclaringApps = ({ apps }: Pick<Declarations, 'apps'>) =>
  apps.length > 0 && (
    <Stack className="card" component="section" aria-labelledby="declaring">
      <Title order={2} size="h3" id="declaring">
        Declared by apps
      </Title>
      <List listStyleType="none" spacing="sm">
        {apps.map(({ id, label, schema, roles }) => (
          <List.Item key={id}>
            <Link className="text-link" to="/apps/$id" params={{ id }}>
              {label}
            </Link>
            <Text size="sm" c="dimmed" className="break-words">
              {[
                attributesOf(schema),
                roles.length > 0 && `roles ${roles.map((role) => role.label || role.key).join(', ')}`,
              ]
                .filter(Boolean)
                .join(' · ')}
            </Text>
          </List.Item>
        ))}
      </List>
    </Stack>
  );

const attributesOf = (schema: Record<string, unknown> | null): string => {
  const keys = Object.keys(schema?.properties ?? {});
  return keys.length > 0 ? `attributes ${keys.join(', ')}` : '';
};
