import { Stack, Text, Textarea } from '@mantine/core';
import { useState } from 'react';
import { Dialog, DialogButtons } from '../components/dialog.tsx';
import { EndChoice, endChoiceOf, endOf } from '../components/end-choice.tsx';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { MAX_REASON } from './ask-dialog.tsx';
import { type AccessRequest, type Decision, daysText, requestName } from './use-requests.ts';

export type Question = { kind: Decision['kind']; request: AccessRequest };

type Props = {
  question: Question;
  isSending: boolean;
  error: unknown;
  onDecide: (decision: Decision) => void;
  onClose: () => void;
};

const DAY_MS = 86_400_000;

const wishedEnd = ({ days }: AccessRequest): Date | null =>
  days === null ? null : new Date(Date.now() + days * DAY_MS);

/** Denies a request with a reason, or approves it with another end. */
export const DecisionDialog = ({ question, isSending, error, onDecide, onClose }: Props) => {
  const { kind, request } = question;
  const [reason, setReason] = useState('');
  const [until, setUntil] = useState(() => endChoiceOf(wishedEnd(request)));
  const isApproval = kind === 'approve';
  const end = endOf(until);
  const decide = (): void => {
    const terms = { request, reason: reason.trim() };
    if (!isApproval) onDecide({ kind: 'deny', ...terms });
    else if (end !== undefined) onDecide({ kind: 'approve', expires_at: end, ...terms });
  };
  return (
    <Dialog isOpen onClose={onClose} title={`${isApproval ? 'Approve' : 'Deny'} ${requestName(request)}`}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          decide();
        }}
      >
        <Stack>
          <ProblemAlert error={error} />
          <Text size="sm" className="break-words">
            Asked for access {daysText(request.days)}
            {request.reason === '' ? '.' : `: “${request.reason}”`}
          </Text>
          {isApproval && <EndChoice label="Until" value={until} onChange={setUntil} />}
          <Textarea
            label="Message to the person"
            description="Optional. Mailed with the decision."
            autosize
            minRows={2}
            maxLength={MAX_REASON}
            data-autofocus={!isApproval || undefined}
            value={reason}
            onChange={({ currentTarget }) => setReason(currentTarget.value)}
          />
          <DialogButtons
            action={isApproval ? 'Approve' : 'Deny'}
            isDanger={!isApproval}
            isPending={isSending}
            isDisabled={isApproval && end === undefined}
            onClose={onClose}
          />
        </Stack>
      </form>
    </Dialog>
  );
};
