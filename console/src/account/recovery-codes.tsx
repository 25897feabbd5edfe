import { Alert, Button, CopyButton, Group, SimpleGrid, Stack, Text } from '@mantine/core';

type Props = { codes: readonly string[]; onClose: () => void };

/** Shows new recovery codes once, for the user to store outside of this browser. */
export const RecoveryCodes = ({ codes, onClose }: Props) => {
  const text = codes.join('\n');
  return (
    <Stack>
      <Alert color="orange" variant="light">
        Keep these recovery codes in a safe place. They are not shown again.
      </Alert>
      <Text size="sm">
        If you lose the device with the app or the passkey, log in with one of them instead. Each works once.
      </Text>
      <SimpleGrid
        component="ul"
        className="card plain-list"
        p="md"
        cols={{ base: 1, xs: 2 }}
        spacing="xs"
        aria-label="Recovery codes"
      >
        {codes.map((code) => (
          <Text component="li" key={code} ff="monospace">
            {code}
          </Text>
        ))}
      </SimpleGrid>
      <Group justify="flex-end">
        <Button variant="default" onClick={() => download(text)}>
          Download
        </Button>
        <CopyButton value={text}>
          {({ copied, copy }) => (
            <Button variant="default" onClick={copy} data-autofocus>
              {copied ? 'Copied' : 'Copy'}
            </Button>
          )}
        </CopyButton>
        <Button onClick={onClose}>Done</Button>
      </Group>
    </Stack>
  );
};

/** Saves a text file, which does not leave the browser. */
const download = (text: string): void => {
  const address = URL.createObjectURL(new Blob([`${text}\n`], { type: 'text/plain' }));
  const link = Object.assign(document.createElement('a'), {
    href: address,
    download: `recovery-codes-${location.hostname}.txt`,
  });
  link.click();
  URL.revokeObjectURL(address);
};
