import { Button, Group, Stack, Text, Textarea, Title } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import type { App } from '../apps/app-of.ts';
import { ConfirmModal } from '../components/confirm-modal.tsx';
import { FlagField } from '../components/flag-field.tsx';
import { FormButtons } from '../components/form-buttons.tsx';
import { asText } from '../components/form-fields.ts';
import { MaintenancePreview } from './maintenance-preview.tsx';
import { useAppForm } from './use-app-form.ts';

const LABELS = [
  ['in_maintenance', 'In maintenance'],
  ['maintenance_message', 'Message (HTML)'],
] as const;

type Props = { app: App; isReadOnly: boolean };

/** A switch for maintenance, and its message, which is hidden until it is edited or shown to people. */
export const MaintenanceForm = ({ app, isReadOnly }: Props) => {
  const [isAsking, asking] = useDisclosure();
  const [isOpen, message] = useDisclosure(app.in_maintenance);
  const { form, update, buttons, dialog } = useAppForm('maintenance', app, LABELS);
  const values = form.getValues();
  const save = (): void => update.mutate(values);
  const isStarting = values.in_maintenance && !app.in_maintenance;
  const { onChange, ...flag } = form.getInputProps('in_maintenance', { type: 'checkbox' });
  return (
    <form
      className="card"
      aria-labelledby="maintenance"
      onSubmit={form.onSubmit(() => (isStarting ? asking.open() : save()))}
    >
      <Stack>
        <Group justify="space-between">
          <Title order={2} size="h3" id="maintenance">
            Maintenance
          </Title>
          {!isOpen && !isReadOnly && (
            <Button variant="subtle" size="compact-sm" onClick={message.open}>
              Edit the message
            </Button>
          )}
        </Group>
        <FlagField
          label="In maintenance"
          description="People see a message instead of the app."
          isReadOnly={isReadOnly}
          {...flag}
          onChange={(event) => {
            message.open();
            onChange(event);
          }}
        />
        {(isOpen || form.isDirty()) && (
          <>
            <Textarea
              label="Message (HTML)"
              rows={4}
              classNames={{ input: 'html-input' }}
              {...asText(isReadOnly)}
              {...form.getInputProps('maintenance_message')}
            />
            {!isReadOnly && <MaintenancePreview appId={app.id} message={values.maintenance_message} />}
            {!isReadOnly && (
              <FormButtons save={isStarting ? 'Start maintenance…' : 'Save maintenance'} {...buttons} />
            )}
          </>
        )}
      </Stack>
      <ConfirmModal
        isOpen={isAsking}
        title="Start maintenance?"
        action="Start maintenance"
        onConfirm={save}
        onClose={asking.close}
      >
        <Text>Until maintenance ends, people see this page instead of {app.label}.</Text>
      </ConfirmModal>
      {dialog}
    </form>
  );
};
