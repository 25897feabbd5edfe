import { SimpleGrid, Stack, Switch, Text, Textarea, TextInput, Title } from '@mantine/core';
import { type UseFormReturnType, useForm } from '@mantine/form';
import type { App } from '../apps/app-of.ts';
import { FormButtons } from '../components/form-buttons.tsx';
import { changed } from '../components/form-fields.ts';
import { HtmlPreview } from '../components/html-preview.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { useAppUpdate } from './use-app-update.ts';

type Texts = Pick<App, 'label' | 'description' | 'help_html' | 'footer_html' | 'show_help' | 'show_footer'>;

type Props = { app: App; isReadOnly: boolean };

export const TextsForm = ({ app, isReadOnly }: Props) => {
  const { id, label, description, help_html, footer_html, show_help, show_footer } = app;
  const form = useForm<Texts>({
    initialValues: { label, description, help_html, footer_html, show_help, show_footer },
  });
  const update = useAppUpdate(id, form);
  return (
    <form
      className="card"
      aria-labelledby="texts"
      onSubmit={form.onSubmit((values) => update.mutate({ app_id: id, ...changed(values, form.isDirty) }))}
    >
      <Stack>
        <Title order={2} size="h3" id="texts">
          Texts
        </Title>
        <ProblemAlert error={update.error} />
        <TextInput label="Label" readOnly={isReadOnly} {...form.getInputProps('label')} />
        <Textarea
          label="Description"
          autosize
          minRows={2}
          readOnly={isReadOnly}
          {...form.getInputProps('description')}
        />
        <HtmlField form={form} html="help_html" show="show_help" name="Help" isReadOnly={isReadOnly} />
        <HtmlField form={form} html="footer_html" show="show_footer" name="Footer" isReadOnly={isReadOnly} />
        {!isReadOnly && (
          <FormButtons
            save="Save texts"
            isDirty={form.isDirty()}
            isSaving={update.isPending}
            onDiscard={form.reset}
          />
        )}
      </Stack>
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

/** HTML beside what it looks like. */
const HtmlField = ({ form, html, show, name, isReadOnly }: FieldProps) => (
  <Stack gap="xs">
    <SimpleGrid cols={{ base: 1, lg: 2 }}>
      <Textarea
        label={`${name} (HTML)`}
        rows={5}
        classNames={{ input: 'html-input' }}
        readOnly={isReadOnly}
        {...form.getInputProps(html)}
      />
      <Stack gap={4}>
        <Text size="sm" fw={500}>
          Preview
        </Text>
        <HtmlPreview title={`Preview of the ${name.toLowerCase()}`} html={form.getValues()[html]} />
      </Stack>
    </SimpleGrid>
    <Switch
      label={`Show the ${name.toLowerCase()}`}
      disabled={isReadOnly}
      {...form.getInputProps(show, { type: 'checkbox' })}
    />
  </Stack>
);
