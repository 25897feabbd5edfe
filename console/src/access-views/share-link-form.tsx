import {
  Checkbox,
  Collapse,
  Group,
  NumberInput,
  Radio,
  Select,
  Stack,
  TagsInput,
  Text,
  TextInput,
} from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import { useQuery } from '@tanstack/react-query';
import { useId, useState } from 'react';
import { trpc } from '../api.ts';
import { type App, useClientOfApp } from '../apps/app-of.ts';
import { DateText } from '../components/date-text.tsx';
import { DisclosureButton } from '../components/disclosure-button.tsx';
import { isSame } from '../components/form-fields.ts';
import { objectFault } from '../components/json-object.ts';
import { ObjectRows } from '../components/object-rows.tsx';
import { PersonInput } from '../components/person-input.tsx';
import { AttributeFields, faultsIn } from '../data-permissions/attribute-fields.tsx';
import { useDeclared } from '../data-permissions/declared.ts';
import { serverNow } from '../server-clock.ts';
import { ENDS, endOf, type LinkValues, localTime, NEW_LINK } from './share-link.ts';

export type LinkForm = UseFormReturnType<LinkValues>;

/** What the form refuses itself, by field. */
export const VALIDATE = {
  date: (_date: string, values: LinkValues) =>
    endOf(values, new Date()) === undefined ? 'Choose a date and a time.' : null,
  user: (user: string, { audience }: LinkValues) =>
    audience === 'person' && user.trim() === '' ? 'Choose a person.' : null,
  data_permissions: objectFault,
  selections: objectFault,
};

/** The fields of the form in which a refusal of the service is shown. */
export const faultsByField = (faults: Record<string, string>): Record<string, string> => {
  const { allowed_uses_cnt: uses, expires_at: date, allowed_networks: networks, ...others } = faults;
  return { ...others, ...(uses && { uses }), ...(date && { date }), ...(networks && { networks }) };
};

type Props = {
  app: App;
  form: LinkForm;
  /** The last refusal of the service. */
  error: unknown;
  /** Whether the link exists: its person cannot be changed. */
  isExisting?: boolean;
};

/** The fields of a share link. The rare ones are hidden unless they have a value or a fault. */
export const LinkFields = ({ app, form, error, isExisting = false }: Props) => (
  <>
    <TextInput
      label="Label"
      description="Shown in the list, not to those who open the link."
      placeholder="Board meeting"
      maxLength={100}
      data-autofocus
      {...form.getInputProps('label')}
    />
    <Group grow align="flex-start" preventGrowOverflow={false} wrap="wrap">
      <EndField form={form} />
      <NumberInput
        label="Number of uses"
        placeholder="Any number"
        miw="12rem"
        min={1}
        max={2_147_483_647}
        allowDecimal={false}
        {...form.getInputProps('uses')}
      />
    </Group>
    {!isExisting && <AudienceField app={app} form={form} />}
    <DataField app={app} form={form} error={error} />
    <MoreOptions app={app} form={form} />
  </>
);

const EndField = ({ form }: { form: LinkForm }) => {
  const hintId = useId();
  const { end } = form.getValues();
  const until = endOf(form.getValues(), new Date(serverNow()));
  return (
    <Stack gap={4} miw="12rem">
      <Select
        label="Works until"
        aria-describedby={hintId}
        allowDeselect={false}
        data={ENDS}
        {...form.getInputProps('end')}
        error={end !== 'Date and time' && form.errors.date}
      />
      {end === 'Date and time' && (
        <TextInput
          type="datetime-local"
          aria-label="Date and time"
          min={localTime(new Date(serverNow()))}
          {...form.getInputProps('date')}
        />
      )}
      <Text id={hintId} size="xs" c="dimmed" aria-live="polite">
        {until === null && 'Until someone switches it off.'}
        {until && (
          <>
            Until <DateText date={until} />.
          </>
        )}
      </Text>
    </Stack>
  );
};

const AudienceField = ({ app, form }: { app: App; form: LinkForm }) => (
  <>
    <Radio.Group label="Who opens the app" {...form.getInputProps('audience')}>
      <Group mt={6}>
        <Radio value="anyone" label="Anyone with the link, as a guest" />
        <Radio value="person" label="One person" />
      </Group>
    </Radio.Group>
    {form.getValues().audience === 'person' && (
      <PersonInput
        label="Person"
        description="Anyone with the link sees the app as this person does."
        placeholder="Name or email address"
        among={{ app: app.slug }}
        {...form.getInputProps('user')}
      />
    )}
  </>
);

const DataField = ({ app, form, error }: Pick<Props, 'app' | 'form' | 'error'>) => {
  const { attributes } = useDeclared(useClientOfApp(app.id), app.id);
  const faults = faultsIn(error, 'data_permissions');
  const isGuest = form.getValues().audience === 'anyone';
  const field = {
    label: 'Data permissions',
    description: isGuest
      ? 'What the guest sees, as the app understands it. If empty, the app gets none.'
      : 'They replace those of the person. If empty, the person’s own apply.',
    value: form.getValues().data_permissions,
    onChange: (text: string) => form.setFieldValue('data_permissions', text),
  };
  if (attributes.length === 0) return <ObjectRows {...field} error={form.errors.data_permissions} />;
  return (
    <AttributeFields
      {...field}
      attributes={attributes}
      faults={faults}
      error={faults.length === 0 && form.errors.data_permissions}
    />
  );
};

const RARE = [
  ...(['stack_slug', 'networks', 'autorotate', 'selections'] as const),
  ...(['show_header', 'show_footer', 'language_code'] as const),
] as const;

const MoreOptions = ({ app, form }: { app: App; form: LinkForm }) => {
  const [isChosen, choose] = useState(() =>
    RARE.some((field) => !isSame(form.getValues()[field], NEW_LINK[field])),
  );
  const isOpen = isChosen || RARE.some((field) => form.errors[field]);
  const stacks = useQuery({ ...trpc.apps.stacks.queryOptions({ app_id: app.id }), enabled: isOpen });
  const { stack_slug: stack } = form.getValues();
  const groups = stacks.data?.map(({ slug, label }) => ({ value: slug, label })) ?? [];
  // The app may have dropped the page group of an existing link.
  const isDropped = stack !== null && groups.every(({ value }) => value !== stack);
  return (
    <>
      <div>
        <DisclosureButton isOpen={isOpen} onToggle={() => choose(!isOpen)}>
          More options
        </DisclosureButton>
      </div>
      <Collapse expanded={isOpen} keepMounted={false}>
        <Stack>
          <Select
            label="Page group"
            description="The part of the app that the link opens."
            placeholder="The start of the app"
            clearable
            clearButtonProps={{ 'aria-label': 'Clear Page group' }}
            data={isDropped ? [...groups, { value: stack, label: stack }] : groups}
            {...form.getInputProps('stack_slug')}
          />
          <TagsInput
            label="Networks"
            description="Where the link works. If empty, everywhere."
            placeholder="192.0.2.0/24, with Enter after each"
            acceptValueOnBlur
            {...form.getInputProps('networks')}
          />
          <Checkbox
            label="A new link after each use"
            description="The used link stops working. You copy the new one here."
            {...form.getInputProps('autorotate', { type: 'checkbox' })}
          />
          <Group align="flex-start">
            <Checkbox
              label="Show the app’s header"
              {...form.getInputProps('show_header', { type: 'checkbox' })}
            />
            <Checkbox
              label="Show the app’s footer"
              {...form.getInputProps('show_footer', { type: 'checkbox' })}
            />
          </Group>
          <TextInput
            label="Language"
            description="Two letters, such as de. If empty, the app decides."
            maxLength={2}
            maw="12rem"
            {...form.getInputProps('language_code')}
          />
          <ObjectRows
            label="Selections"
            description="What is selected when the app opens, as the app understands it."
            value={form.getValues().selections}
            onChange={(text) => form.setFieldValue('selections', text)}
            error={form.errors.selections}
          />
        </Stack>
      </Collapse>
    </>
  );
};
