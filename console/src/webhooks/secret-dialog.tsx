import { Alert, Button, Group, Stack, Text } from '@mantine/core';
import { timeText } from '../components/date-text.tsx';
import { Dialog } from '../components/dialog.tsx';
import { SecretField } from '../components/secret-field.tsx';
import { DocsLink } from './webhook-list.tsx';

type Props = {
  /** Undefined: closed. */
  secret: string | undefined;
  /** For a replaced secret: until when deliveries are also signed with the previous one. */
  previousUntil?: Date | undefined;
  onClose: () => void;
};

/** Shows a secret once. */
export const SecretDialog = ({ secret, previousUntil, onClose }: Props) => (
  <Dialog
    isOpen={secret !== undefined}
    onClose={onClose}
    title={previousUntil ? 'The new secret' : 'The secret of the webhook'}
    size="lg"
    isSticky
  >
    {secret !== undefined && (
      <Stack>
        <Alert color="orange" variant="light">
          Copy the secret now. It is not shown again.
        </Alert>
        <SecretField label="Secret" value={secret} />
        <Text size="sm">
          Your receiver checks with it that events come from here. See <DocsLink />.
          {previousUntil && ` Until ${timeText(previousUntil)}, the previous secret works, too.`}
        </Text>
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Done
          </Button>
        </Group>
      </Stack>
    )}
  </Dialog>
);
