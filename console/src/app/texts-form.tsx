import { SimpleGrid, Stack, Text, Textarea, TextInput, Title } from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import type { App } from '../apps/app-of.ts';
import { FlagField } from '../components/flag-field.tsx';
import { FormButtons } from '../components/form-buttons.tsx';
import { asText } from '../components/form-fields.ts';
import { HtmlPreview } from '../components/html-preview.tsx';
import { useAppForm } from './use-app-form.ts';

const LABELS = [
  ['label', 'Name'],
  ['description', 'Description'],
  ['help_html', 'Help (HTML)'],
  ['show_help', 'Show the help'],
  ['footer_html', 'Footer (HTML)'],
  ['show_footer', 'Show the footer'],
] as const;

type Texts = Pick<App, (typeof LABELS)[number][0]>;

type Props = { app: App; isReadOnly: boolean };

export const TextsForm = ({ app, isReadOnly }: Props) => {
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
