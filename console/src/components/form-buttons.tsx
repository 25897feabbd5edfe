import { Alert, Button, Group, Stack, Text } from '@mantine/core';
import { isUnreachable } from '@steward/client';
import { useIsReachable } from '../connection.ts';
import classes from './form-buttons.module.css';
import { ProblemAlert } from './problem-alert.tsx';

export type FormButtonsProps = {
  isDirty: boolean;
  isSaving: boolean;
  /** Whether the last save succeeded. */
  isSaved: boolean;
  /** Why the last save failed, unless it is shown at a field. */
  problem: unknown;
  onDiscard: () => void;
};

type Props = FormButtonsProps & {
  /** Label of the button. */
  save?: string;
};

/** The buttons at the end of a long card, visible before its end is reached. */
export const StickyFormButtons = (props: Props) => (
  <div className={classes.sticky} data-floating-bar>
    <FormButtons {...props} />
  </div>
);

/** Saves or discards the changes of a form, and shows why a save failed. */
export const FormButtons = ({ save = 'Save', isDirty, isSaving, isSaved, problem, onDiscard }: Props) => (
  <Stack gap="xs">
    {!isSaving && <SaveProblem problem={problem} isDirty={isDirty} save={save} />}
    <Group>
      <Button type="submit" loading={isSaving} disabled={!isDirty}>
        {save}
      </Button>
      <Button variant="default" onClick={onDiscard} disabled={!isDirty}>
        Discard
      </Button>
      {/* Always rendered: screen readers announce only text that is added to it. */}
      <Text span size="sm" c="dimmed" role="status">
        {isSaved && !isDirty && !isSaving && 'Saved.'}
      </Text>
    </Group>
  </Stack>
);

/** After an outage, the failed save is offered again. */
const SaveProblem = ({ problem, isDirty, save }: Pick<Props, 'problem' | 'isDirty' | 'save'>) => {
  const isReachable = useIsReachable();
  if (!isUnreachable(problem) || !isReachable) return <ProblemAlert error={problem} />;
  if (!isDirty) return null;
  return (
    <Alert color="blue" variant="light" role="alert" title="The service can be reached again">
      Your changes are still here, but may not be saved. {save} again?
    </Alert>
  );
};
