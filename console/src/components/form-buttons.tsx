import { Button, Group } from '@mantine/core';

export type FormButtonsProps = {
  isDirty: boolean;
  isSaving: boolean;
  onDiscard: () => void;
};

type Props = FormButtonsProps & {
  /** Label of the button. */
  save?: string;
};

/** Saves or discards the changes of a form. */
export const FormButtons = ({ save = 'Save', isDirty, isSaving, onDiscard }: Props) => (
  <Group>
    <Button type="submit" loading={isSaving} disabled={!isDirty}>
      {save}
    </Button>
    <Button variant="default" onClick={onDiscard} disabled={!isDirty}>
      Discard
    </Button>
  </Group>
);
