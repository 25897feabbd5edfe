import { SimpleGrid, Stack, Text, Textarea, TextInput, Title } from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type Inputs, steward, trpc } from '../api.ts';
import type { App } from '../apps/app-of.ts';
import { FactList } from '../components/fact-list.tsx';
import { FlagField } from '../components/flag-field.tsx';
import { FormButtons } from '../components/form-buttons.tsx';
import { asText, type FieldLabels } from '../components/form-fields.ts';
import { HtmlPreview } from '../components/html-preview.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { useRecordForm } from '../components/use-record-form.tsx';
import { RemovalForm, RemovalPanel, useRemoval } from '../removal/removal-panel.tsx';
import { isSuperuser } from '../session/roles.ts';
import { useSession } from '../session/use-session.ts';

type Props = { app: App; isReadOnly: boolean };

/** Texts, how people get the app, and for superusers its removal. */
export const AppSettings = ({ app, isReadOnly, isClosed }: Props & { isClosed: boolean }) => (
  <>
    <TextsForm app={app} isReadOnly={isReadOnly} />
    <Opening app={app} isReadOnly={isReadOnly} />
    {isSuperuser(useSession().roles) && <AppRemoval id={app.id} label={app.label} isClosed={isClosed} />}
  </>
);

const LABELS = [
  ['label', 'Name'],
  ['description', 'Description'],
  ['help_html', 'Help (HTML)'],
  ['show_help', 'Show the help'],
  ['footer_html', 'Footer (HTML)'],
  ['show_footer', 'Show the footer'],
] as const;

type Texts = Pick<App, (typeof LABELS)[number][0]>;

const TextsForm = ({ app, isReadOnly }: Props) => {
  const { form, update, buttons, dialog } = useAppForm('texts', app, LABELS);
  return (
    <form
      className="card"
      aria-labelledby="texts"
      onSubmit={form.onSubmit((values) => update.mutate(values))}
    >
      <Stack>
        <Title order={2} size="h3" id="texts">
          Name and texts
        </Title>
        <TextInput label="Name" {...asText(isReadOnly)} {...form.getInputProps('label')} />
        <Textarea
          label="Description"
          autosize
          minRows={2}
          {...asText(isReadOnly)}
          {...form.getInputProps('description')}
        />
        <HtmlField form={form} html="help_html" show="show_help" name="Help" isReadOnly={isReadOnly} />
        <HtmlField form={form} html="footer_html" show="show_footer" name="Footer" isReadOnly={isReadOnly} />
        {!isReadOnly && <FormButtons save="Save texts" {...buttons} />}
      </Stack>
      {dialog}
    </form>
  );
};

type FieldProps = {
  form: UseFormReturnType<Texts>;
  html: 'help_html' | 'footer_html';
  show: 'show_help' | 'show_footer';
  name: string;
  isReadOnly: boolean;
};

/** An HTML field with a preview. */
const HtmlField = ({ form, html, show, name, isReadOnly }: FieldProps) => (
  <Stack gap="xs">
    <SimpleGrid cols={{ base: 1, lg: 2 }}>
      <Textarea
        label={`${name} (HTML)`}
        rows={5}
        classNames={{ input: 'html-input' }}
        {...asText(isReadOnly)}
        {...form.getInputProps(html)}
      />
      <Stack gap={4}>
        <Text size="sm" fw={500}>
          Preview
        </Text>
        <HtmlPreview title={`Preview of the ${name.toLowerCase()}`} html={form.getValues()[html]} />
      </Stack>
    </SimpleGrid>
    <FlagField
      label={`Show the ${name.toLowerCase()}`}
      isReadOnly={isReadOnly}
      {...form.getInputProps(show, { type: 'checkbox' })}
    />
  </Stack>
);

type AppField = Extract<keyof NonNullable<Inputs['apps']['update']['expected']>, keyof App>;

/** A form for some fields of an app. */
const useAppForm = <F extends AppField>(name: string, app: App, labels: FieldLabels<F>) => {
  const queryClient = useQueryClient();
  const query = trpc.apps.get.queryOptions({ app_id: app.id }, { staleTime: 0 });
  return useRecordForm({
    name,
    record: app,
    labels,
    history: { action: 'app.update', target: app.slug },
    read: () => queryClient.fetchQuery(query),
    save: (input) => steward.api.apps.update.mutate({ app_id: app.id, ...input }),
    onSaved: (updated) => {
      queryClient.setQueryData(query.queryKey, updated);
      for (const filter of [trpc.apps.list, trpc.apps.status, trpc.audit.list])
        void queryClient.invalidateQueries(filter.pathFilter());
    },
  });
};

/** How people get the app. Whether people may ask is saved at once; the package sets the rest. */
const Opening = ({ app, isReadOnly }: Props) => {
  const queryClient = useQueryClient();
  const { data: status, error } = useQuery(trpc.apps.status.queryOptions({ app_id: app.id }));
  const update = useMutation(
    trpc.apps.update.mutationOptions({
      onSettled: () =>
        Promise.all(
          [trpc.apps.status, trpc.access.matrix, trpc.audit].map((filter) =>
            queryClient.invalidateQueries(filter.pathFilter()),
          ),
        ),
    }),
  );
  return (
    <Stack className="card" component="section" aria-labelledby="opening" mt="md">
      <Title order={2} size="h3" id="opening">
        Access
      </Title>
      <ProblemAlert error={error ?? update.error} />
      <FlagField
        label="People may ask for this app"
        description="Members of the client who do not have it see it on Home, and can ask its admins for it."
        checked={update.isPending ? update.variables.is_requestable : (status?.is_requestable ?? false)}
        isReadOnly={isReadOnly}
        disabled={!status}
        onChange={({ currentTarget }) =>
          update.mutate({ app_id: app.id, is_requestable: currentTarget.checked })
        }
      />
      {status && (
        <FactList
          facts={[
            ['Address', status.launch_url || 'Set by the operator of the service'],
            ['View as', status.view_as ? 'Others may look at it as a person' : 'Not supported by the app'],
          ]}
        />
      )}
      <Text size="sm" c="dimmed">
        A package sets the address of its app, and whether others may look at it as a person.
      </Text>
    </Stack>
  );
};

type RemovalProps = { id: string; label: string; isClosed: boolean };

/** Only for superusers. */
const AppRemoval = ({ id, label, isClosed }: RemovalProps) => (
  <RemovalPanel
    noun="app"
    name={label}
    isClosed={isClosed}
    closing="Start maintenance of the app first, in the menu above."
  >
    {(close) => <RemovalOf id={id} onClose={close} />}
  </RemovalPanel>
);

const RemovalOf = ({ id, onClose }: { id: string; onClose: () => void }) => {
  const preview = useQuery(trpc.apps.previewRemoval.queryOptions({ app_id: id }, { gcTime: 0 }));
  const { onError, onRemoved, prompt } = useRemoval('/apps');
  const remove = useMutation(
    trpc.apps.remove.mutationOptions({
      onSuccess: (_done, { confirm_name }) => onRemoved(confirm_name),
      onError: (error, input) => onError(error, () => remove.mutate(input)),
    }),
  );
  const mutate = (name: string): void => remove.mutate({ app_id: id, confirm_name: name });
  return (
    <>
      <RemovalForm noun="app" preview={preview} remove={{ ...remove, mutate }} onClose={onClose} />
      {prompt}
    </>
  );
};
