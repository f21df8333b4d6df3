// SPDX-License-Identifier: GPL-2.0

#[kernel::macros::kunit_tests(rdma_rhashtable)]
mod cases {
    use super::super::*;
    use kernel::time::{
        delay::fsleep,
        Delta, //
    };

    /// So many nodes make a table grow more than once.
    const MANY: u32 = 2000;

    fn table() -> Result<Pin<KBox<Table<u32>>>> {
        KBox::pin_init(Table::new(), GFP_KERNEL)
    }

    #[test]
    fn a_key_finds_its_node_and_no_other_does() -> Result {
        let table = table()?;
        for i in 0..100 {
            table.get_or_insert(&[i, 0, 0, 0, 0, 1], i)?;
        }
        for i in 0..100 {
            assert!(table
                .get(&[i, 0, 0, 0, 0, 1])
                .is_some_and(|node| **node == i));
            assert!(table.get(&[i, 0, 0, 0, 0, 2]).is_none());
        }
        assert_eq!(table.nodes(), 100);
        Ok(())
    }

    #[test]
    fn a_second_insert_yields_the_first_node() -> Result {
        let table = table()?;
        let key = [1; KEY_WORDS];
        let first = table.get_or_insert(&key, 1)?;
        let second = table.get_or_insert(&key, 2)?;
        assert_eq!((**first, **second), (1, 1));
        assert_eq!(table.nodes(), 1);
        Ok(())
    }

    #[test]
    fn a_node_outlives_its_place_in_the_table() -> Result {
        let table = table()?;
        let key = [1; KEY_WORDS];
        let old = table.get_or_insert(&key, 1)?;
        assert!(table.remove(&old));
        assert!(!table.remove(&old));
        assert!(table.get(&key).is_none());
        let new = table.get_or_insert(&key, 2)?;
        assert_eq!((**old, **new), (1, 2));
        Ok(())
    }

    #[test]
    fn a_node_is_joined_between_its_first_user_and_its_last() -> Result {
        let table = table()?;
        let key = [1; KEY_WORDS];
        assert!(table.join(&key).is_none());
        let node = table.get_or_insert(&key, 1)?;
        assert!(table.join(&key).is_none());
        let first = User::enter(&node);
        let second = table.join(&key).ok_or(ENOENT)?;
        assert_eq!((**second, node.users()), (1, 2));
        assert!(second.leave_unless_last().is_none());
        let last = first.leave_unless_last().ok_or(EINVAL)?;
        assert!(last.leave());
        assert!(table.join(&key).is_none());
        Ok(())
    }

    #[test]
    fn a_use_holds_its_node_without_the_table() -> Result {
        let table = table()?;
        let node = table.get_or_insert(&[1; KEY_WORDS], 1)?;
        let user = User::enter(&node);
        assert!(table.remove(&node));
        drop(node);
        let node = user.node_ref();
        assert!(user.leave());
        assert_eq!((**node, node.users()), (1, 0));
        Ok(())
    }

    #[test]
    fn another_tables_node_is_not_removed() -> Result {
        let (a, b) = (table()?, table()?);
        let key = [1; KEY_WORDS];
        let node = a.get_or_insert(&key, 1)?;
        b.get_or_insert(&key, 2)?;
        assert!(!b.remove(&node));
        assert_eq!((a.nodes(), b.nodes()), (1, 1));
        Ok(())
    }

    #[test]
    fn a_chain_holds_a_node_once_and_gives_it_back() -> Result {
        let table = table()?;
        let first = table.get_or_insert(&[1; KEY_WORDS], 1)?;
        let second = table.get_or_insert(&[2; KEY_WORDS], 2)?;
        let mut chain = Chain::new();
        chain.push(first.clone());
        chain.push(second);
        chain.push(first.clone());
        assert!(chain.pop().is_some_and(|node| **node == 2));
        assert!(chain.pop().is_some_and(|node| **node == 1));
        assert!(chain.pop().is_none());
        chain.push(first);
        assert!(chain.pop().is_some());
        Ok(())
    }

    /// Waits until the table has this many buckets or fewer. It is resized on a workqueue.
    fn shrinks_to(table: &Table<u32>, buckets: u32) -> bool {
        for _ in 0..1000 {
            if table.buckets() <= buckets {
                return true;
            }
            fsleep(Delta::from_millis(10));
        }
        false
    }

    #[test]
    fn a_table_grows_with_its_nodes_and_gives_the_memory_back() -> Result {
        let table = table()?;
        let empty = table.buckets();
        for i in 0..MANY {
            table.get_or_insert(&[i, 0, 0, 0, 0, 1], i)?;
        }
        for _ in 0..1000 {
            if table.buckets() > MANY / 2 {
                break;
            }
            fsleep(Delta::from_millis(10));
        }
        assert!(table.buckets() > MANY / 2);
        for i in 0..MANY {
            if let Some(node) = table.get(&[i, 0, 0, 0, 0, 1]) {
                table.remove(&node);
            }
        }
        assert_eq!(table.nodes(), 0);
        assert!(shrinks_to(&table, empty));
        Ok(())
    }

    #[test]
    fn keys_that_share_a_bucket_in_one_table_are_apart_in_another() -> Result {
        let (attacked, other) = (table()?, table()?);
        let bucket = attacked.bucket(&[0; KEY_WORDS]);
        let (mut others, mut found) = (0u64, 0);
        for i in 0..MANY {
            let key = [i, 0, 0, 0, 0, 0];
            if attacked.bucket(&key) == bucket {
                others |= 1 << other.bucket(&key).min(63);
                found += 1;
            }
        }
        // About 30 of 64 buckets each; that they meet in a few again will not happen by chance.
        assert!(found > 8);
        assert!(others.count_ones() > found / 4);
        Ok(())
    }
}
