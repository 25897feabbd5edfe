import { Anchor, Button, CopyButton, Group, List, Stack, Text, Textarea, TextInput } from '@mantine/core';
import { fieldErrors } from '@steward/client';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { encode } from 'uqr';
import { type Outputs, steward, trpc } from '../api.ts';
import { DialogButtons } from '../components/dialog.tsx';
import { CODE_INPUT, joined } from '../components/form-fields.ts';
import { useIdempotencyKeys } from '../components/idempotency-key.ts';
import { usePasswordConfirmation, withoutConfirmation } from '../components/password-confirmation.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { notify } from '../components/toasts.ts';
import { RecoveryCodes } from './recovery-codes.tsx';
import { codesOf } from './repeated-enrolment.ts';

type Props = { started: Outputs['mfa']['startTotp']; onClose: () => void };

/** Shows the secret for an authenticator app, asks for its first code, and then shows the recovery codes. */
export const Enrolment = ({ started, onClose }: Props) => {
  const queryClient = useQueryClient();
  const [code, setCode] = useState('');
  const { onError, prompt } = usePasswordConfirmation();
  // A repeat of the same code after a lost response must not count as a wrong code.
  const keys = useIdempotencyKeys();
  const confirm = useMutation({
    mutationFn: (input: { code: string }) =>
      codesOf(steward.api.mfa.confirmTotp.mutate(input, { context: { idempotencyKey: keys.keyOf(input) } })),
    onSuccess: ({ recovery_codes: codes }) => {
      keys.forget();
      for (const router of [trpc.mfa, trpc.audit, trpc.sessions.current])
        void queryClient.invalidateQueries(router.pathFilter());
      notify('Authenticator app added.');
      if (codes.length === 0) onClose();
    },
    onError: (error, input) => onError(error, () => confirm.mutate(input)),
  });
  if (confirm.data) return <RecoveryCodes codes={confirm.data.recovery_codes} onClose={onClose} />;
  const wrong = joined(fieldErrors(confirm.error)).code;
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    confirm.mutate({ code });
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        <List type="ordered" spacing="sm">
          <List.Item>
            Scan this with an authenticator app, such as the one in your password manager.
          </List.Item>
        </List>
        <Group justify="center">
          <QrCode text={started.otpauth_url} />
        </Group>
        <Text size="sm">
          On this device,{' '}
          <Anchor href={started.otpauth_url} size="sm" underline="always">
            open it in the app
          </Anchor>
          . If you cannot scan it, type the secret:
        </Text>
        <Group align="flex-end" wrap="nowrap">
          <Textarea
            label="Secret"
            value={inGroups(started.secret)}
            autosize
            readOnly
            flex={1}
            styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
          />
          <CopyButton value={started.secret}>
            {({ copied, copy }) => (
              <Button variant="default" onClick={copy}>
                {copied ? 'Copied' : 'Copy'}
              </Button>
            )}
          </CopyButton>
        </Group>
        <List type="ordered" start={2}>
          <List.Item>Enter the code that the app shows.</List.Item>
        </List>
        {wrong === undefined && <ProblemAlert error={withoutConfirmation(confirm.error)} />}
        <TextInput
          label="Code"
          inputMode="numeric"
          {...CODE_INPUT}
          value={code}
          onChange={({ currentTarget }) => setCode(currentTarget.value)}
          error={wrong}
        />
        <DialogButtons
          action="Confirm"
          isPending={confirm.isPending}
          isDisabled={code.trim() === ''}
          onClose={onClose}
        />
      </Stack>
      {prompt}
    </form>
  );
};

/** In groups of four, which are easier to type. Apps ignore spaces. */
const inGroups = (secret: string): string => secret.match(/.{1,4}/g)?.join(' ') ?? secret;

/** Modules of white space around a QR code (ISO/IEC 18004). */
const QUIET_ZONE = 4;

/** Black on white in every color scheme: not all apps read it inverted. */
const QrCode = ({ text }: { text: string }) => {
  const { data, size } = encode(text, { ecc: 'M', border: QUIET_ZONE });
  const modules = data.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : [])));
  return (
    <svg
      role="img"
      aria-label="QR code for your authenticator app"
      viewBox={`0 0 ${size} ${size}`}
      width="200"
      height="200"
      shapeRendering="crispEdges"
    >
      <rect width={size} height={size} fill="#fff" />
      <path d={modules.join('')} fill="#000" />
    </svg>
  );
};
