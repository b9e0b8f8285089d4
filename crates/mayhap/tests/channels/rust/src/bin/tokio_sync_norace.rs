//! Tokio's channels and locks between tasks of two workers.
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot, watch, Barrier, Mutex, Notify, RwLock, Semaphore};

static mut VALUE: u32 = 0;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let (to, mut from) = mpsc::channel::<u32>(1);
    let (back, answer) = oneshot::channel();
    let task = tokio::spawn(async move {
        let mut sum = 0;
        while let Some(value) = from.recv().await {
            sum += value;
            unsafe { VALUE += 1 };
        }
        back.send(sum).unwrap();
    });
    unsafe { VALUE = 1 };
    to.send(5).await.unwrap();
    drop(to);
    assert_eq!(answer.await.unwrap(), 5);
    unsafe { VALUE += 1 };
    task.await.unwrap();

    let (lock, doors) = (Arc::new(Mutex::new(0)), Arc::new(RwLock::new(0)));
    let (notify, seats) = (Arc::new(Notify::new()), Arc::new(Semaphore::new(1)));
    let barrier = Arc::new(Barrier::new(2));
    let (announce, mut watcher) = watch::channel(0);
    let other = {
        let (lock, doors, notify, seats, barrier) =
            (lock.clone(), doors.clone(), notify.clone(), seats.clone(), barrier.clone());
        tokio::spawn(async move {
            *lock.lock().await += 1;
            *doors.write().await += 1;
            {
                let _seat = seats.acquire().await.unwrap();
                unsafe { VALUE += 1 };
            }
            watcher.changed().await.unwrap();
            notify.notified().await;
            unsafe { VALUE += 1 };
            barrier.wait().await;
        })
    };
    *lock.lock().await += 1;
    let _ = *doors.read().await;
    {
        let _seat = seats.acquire().await.unwrap();
        unsafe { VALUE += 1 };
    }
    announce.send(1).unwrap();
    let seat = seats.acquire().await.unwrap();
    drop(seat);
    notify.notify_one();
    barrier.wait().await;
    other.await.unwrap();
}
