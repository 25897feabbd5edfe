import { Alert, Stack, Text, TextInput } from '@mantine/core';
import { isProblem } from '@steward/client';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useEffect, useRef, useState } from 'react';
import { type Inputs, steward, trpc } from '../api.ts';
import { browserName } from '../components/browser-name.ts';
import { DialogButtons } from '../components/dialog.tsx';
import { useIdempotencyKeys } from '../components/idempotency-key.ts';
import { createPasskey, hasPasskeys } from '../components/passkey-browser.ts';
import { usePasswordConfirmation, withoutConfirmation } from '../components/password-confirmation.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { notify } from '../components/toasts.ts';
import { RecoveryCodes } from './recovery-codes.tsx';
import { codesOf } from './repeated-enrolment.ts';

type Credential = Inputs['mfa']['addPasskey']['credential'];

/** Asks for a name, creates a passkey with the browser, and then shows the recovery codes. */
export const PasskeyEnrolment = ({ onClose }: { onClose: () => void }) => {
  const [name, setName] = useState(() => browserName(navigator.userAgent).slice(0, 100));
  const { add, prompt } = useAddition(onClose);
  const field = useRef<HTMLInputElement>(null);
  // The field is loaded after the dialog has set the focus.
  useEffect(() => field.current?.focus(), []);
  if (add.data) return <RecoveryCodes codes={add.data.recovery_codes} onClose={onClose} />;
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    add.mutate(name.trim());
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        <Text>
          Your device keeps the passkey and asks for your fingerprint, your face or its PIN. It logs you in
          without the password.
        </Text>
        {!hasPasskeys() && (
          <Alert color="orange" variant="light">
            This browser does not support passkeys. Use a newer one.
          </Alert>
        )}
        <ProblemAlert error={withoutConfirmation(add.error)} />
        <TextInput
          label="Name"
          description="A name by which you recognize this passkey."
          ref={field}
          maxLength={100}
          value={name}
          onChange={({ currentTarget }) => setName(currentTarget.value)}
        />
        <DialogButtons
          action="Create"
          isPending={add.isPending}
          isDisabled={name.trim() === '' || !hasPasskeys()}
          onClose={onClose}
        />
      </Stack>
      {prompt}
    </form>
  );
};

/** Creates a passkey and adds it. After a lost response, the same passkey is sent again. */
const useAddition = (onClose: () => void) => {
  const queryClient = useQueryClient();
  const { onError, prompt } = usePasswordConfirmation();
  const created = useRef<Credential | null>(null);
  const keys = useIdempotencyKeys();
  const add = useMutation({
    mutationFn: async (name: string) => {
      created.current ??= await createPasskey(await steward.api.mfa.startPasskey.mutate());
      const input = { credential: created.current, name };
      const context = { idempotencyKey: keys.keyOf(input) };
      return codesOf(steward.api.mfa.addPasskey.mutate(input, { context }));
    },
    onSuccess: ({ recovery_codes: codes }) => {
      for (const router of [trpc.mfa, trpc.audit, trpc.sessions.current])
        void queryClient.invalidateQueries(router.pathFilter());
      notify('Passkey added.');
      if (codes.length === 0) onClose();
    },
    onError: (error, name) => {
      if (isProblem(error)) created.current = null;
      onError(error, () => add.mutate(name));
    },
  });
  return { add, prompt };
};
