import { Alert, Stack, Text } from '@mantine/core';
import { RequestId } from './request-id.tsx';
import { messageOf } from './screen-error.tsx';

/** Shows why an action failed. Renders nothing without an error. */
export const ProblemAlert = ({ error }: { error: unknown }) =>
  error ? (
    <Alert color="red" variant="light" role="alert">
      <Stack gap="xs">
        <Text size="sm">{messageOf(error)}</Text>
        <RequestId error={error} />
      </Stack>
    </Alert>
  ) : null;
