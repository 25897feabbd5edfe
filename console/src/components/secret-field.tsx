import { Button, CopyButton, Group, TextInput } from '@mantine/core';

type Props = {
  label: string;
  value: string;
  /** Whether users normally copy another field next to it. */
  isSecondary?: boolean;
};

/** A link or token to copy. Without access to the clipboard, the user can select the field. */
export const SecretField = ({ label, value, isSecondary = false }: Props) => (
  <Group align="flex-end" wrap="nowrap">
    <TextInput
      label={label}
      value={value}
      readOnly
      flex={1}
      data-autofocus
      // At 14 px, Chromium on Linux cuts off underscores of DejaVu Sans Mono.
      styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)', fontSize: 13 } }}
      onFocus={({ currentTarget }) => currentTarget.select()}
    />
    <CopyButton value={value}>
      {({ copied, copy }) => (
        <Button {...(isSecondary && { variant: 'default' })} onClick={copy}>
          {copied ? 'Copied' : 'Copy'}
        </Button>
      )}
    </CopyButton>
  </Group>
);
