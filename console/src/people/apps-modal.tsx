import { Button, Modal, MultiSelect, Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { trpc } from '../api.ts';

type Props = {
  title: string;
  /** Of the button. */
  label: string;
  /** @param apps ids */
  onSelect: (apps: string[]) => void;
  onClose: () => void;
};

export const AppsModal = ({ title, label, onSelect, onClose }: Props) => {
  const apps = useQuery(trpc.apps.list.queryOptions({}));
  const [selected, setSelected] = useState<string[]>([]);
  return (
    <Modal opened onClose={onClose} title={title} closeButtonProps={{ 'aria-label': 'Close' }}>
      <Stack>
        <MultiSelect
          label="Apps"
          data-autofocus
          searchable
          data={(apps.data ?? []).map((app) => ({ value: app.id, label: app.label }))}
          value={selected}
          onChange={setSelected}
        />
        <Button disabled={selected.length === 0} onClick={() => onSelect(selected)}>
          {label}
        </Button>
      </Stack>
    </Modal>
  );
};
