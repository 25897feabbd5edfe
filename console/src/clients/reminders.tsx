import { Checkbox, NumberInput, Skeleton, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { trpc } from '../api.ts';
import { FlagField } from '../components/flag-field.tsx';
import { StickyFormButtons } from '../components/form-buttons.tsx';
import { asText } from '../components/form-fields.ts';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { MailNotice } from '../mails/mail-notice.tsx';
import { RemindersPreview, useRemindersPreview } from './reminders-preview.tsx';
import type { Client } from './use-client-form.ts';
import { DAYS, type DaysField, type RemindersOf, useRemindersForm } from './use-reminders-form.ts';

type Props = {
  client: Client;
  isReadOnly: boolean;
  /** The preview is read only while it is visible, because it reads all members. */
  isShown: boolean;
};

/** The reminders that a client sends to its people and its admins. */
export const Reminders = (props: Props) => {
  const reminders = useQuery(trpc.reminders.get.queryOptions({ id: props.client.id }));
  return (
    <>
      <ProblemAlert error={reminders.error} />
      {reminders.isPending && <Skeleton height={420} />}
      {reminders.data && <RemindersForm {...props} reminders={reminders.data} />}
    </>
  );
};

const RemindersForm = ({ client, isReadOnly, isShown, reminders }: Props & { reminders: RemindersOf }) => {
  const { form, update, buttons, dialog } = useRemindersForm(client, reminders);
  const { values } = form;
  const preview = useRemindersPreview({ clientId: client.id, values, isShown: isShown && !isReadOnly });
  const hasSuspension = values.suspend_days !== 0;
  /** The stored days, or the default. */
  const turn = (field: DaysField, isOn: boolean): void =>
    form.setFieldValue(field, isOn ? form.getInitialValues()[field] || DAYS[field].usual : 0);
  const turnInactivity = (isOn: boolean): void => {
    turn('inactive_days', isOn);
    // No one is suspended without a warning. When reminders are turned on again, suspension returns only if it was stored.
    form.setFieldValue('suspend_days', isOn ? form.getInitialValues().suspend_days : 0);
  };
  const daysOf = (field: DaysField, label: string) => (
    <NumberInput
      label={label}
      min={DAYS[field].min}
      max={DAYS[field].max}
      allowDecimal={false}
      maw={280}
      {...asText(isReadOnly)}
      {...form.getInputProps(field)}
    />
  );
  const flagOf = (field: DaysField) => ({ isReadOnly, checked: values[field] !== 0 });
  return (
    <form
      className="card"
      aria-label="Reminders"
      onSubmit={form.onSubmit((changes) => update.mutate(changes))}
    >
      <Stack maw={640} gap="lg">
        <MailNotice />
        <Part isOn={values.access_days !== 0}>
          <FlagField
            {...flagOf('access_days')}
            label="Access that ends"
            description="People get one mail some days before their access to apps ends."
            onChange={({ currentTarget }) => turn('access_days', currentTarget.checked)}
          />
          {daysOf('access_days', 'Days before the end')}
          <Checkbox
            label="Mail the admins too, at most once a day"
            disabled={isReadOnly}
            {...form.getInputProps('access_admins', { type: 'checkbox' })}
          />
        </Part>
        <Part isOn={values.invitation_days !== 0}>
          <FlagField
            {...flagOf('invitation_days')}
            label="Invitations that expire"
            description="Invited people get the link once more before it expires. The end does not change."
            onChange={({ currentTarget }) => turn('invitation_days', currentTarget.checked)}
          />
          {daysOf('invitation_days', 'Days before it expires')}
        </Part>
        <Part isOn={values.inactive_days !== 0}>
          <FlagField
            {...flagOf('inactive_days')}
            label="Inactivity"
            description="Members who neither log in nor use an app of this client for some time get one warning by mail."
            onChange={({ currentTarget }) => turnInactivity(currentTarget.checked)}
          />
          {daysOf('inactive_days', 'Days without use')}
          <Part isOn={hasSuspension}>
            <FlagField
              {...flagOf('suspend_days')}
              label="Suspend people who stay inactive"
              description="They keep what they have, but cannot open the apps of this client until you reactivate them. The last admin, staff and superusers are never suspended."
              onChange={({ currentTarget }) => turn('suspend_days', currentTarget.checked)}
            />
            {daysOf('suspend_days', 'Days after the warning')}
          </Part>
        </Part>
        <FlagField
          isReadOnly={isReadOnly}
          label="Weekly digest"
          description="On Mondays, the admins get a mail about the week before: who came and left, and what waits for them."
          checked={values.weekly_digest}
          onChange={({ currentTarget }) => form.setFieldValue('weekly_digest', currentTarget.checked)}
        />
        {isReadOnly ? (
          <Text c="dimmed">Only client admins and superusers can change this.</Text>
        ) : (
          <RemindersPreview {...preview} />
        )}
      </Stack>
      {!isReadOnly && <StickyFormButtons {...buttons} />}
      {dialog}
    </form>
  );
};

/** A switch, and below it the fields that apply while it is on. */
const Part = ({ isOn, children: [flag, ...details] }: { isOn: boolean; children: ReactNode[] }) => (
  <Stack gap="sm">
    {flag}
    {isOn && (
      <Stack gap="sm" pl="xl">
        {details}
      </Stack>
    )}
  </Stack>
);
