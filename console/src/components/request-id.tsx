import { Button, CopyButton, Group, Text } from '@mantine/core';
import { requestId } from '@steward/client';

/** The ID by which an operator finds a failed request in the log. Renders nothing if there was no response. */
export const RequestId = ({ error }: { error: unknown }) => {
  const id = requestId(error);
  if (id === undefined) return null;
  return (
    <Group gap="xs">
      <Text size="xs" className="break-words">
        Request {id}
      </Text>
      <CopyButton value={id}>
        {({ copied, copy }) => (
          <Button variant="default" size="compact-xs" aria-label="Copy the ID of the request" onClick={copy}>
            {copied ? 'Copied' : 'Copy'}
          </Button>
        )}
      </CopyButton>
    </Group>
  );
};
