// What programs for macOS use of libc++ and libSystem, in breadth.
#include <any>
#include <atomic>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <format>
#include <fstream>
#include <functional>
#include <future>
#include <iostream>
#include <map>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <optional>
#include <random>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <unordered_map>
#include <variant>
#include <vector>

#include <dispatch/dispatch.h>
#include <dlfcn.h>
#include <mach-o/dyld.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/mman.h>

struct Base {
  virtual ~Base() = default;
  virtual int f() const = 0;
};
struct Derived : Base {
  int f() const override { return 1; }
};

static void streams() {
  std::ofstream("f") << std::hex << 12;
  std::ifstream in("f");
  std::string line;
  std::getline(in, line);
  std::istringstream words(line);
  int n = 0;
  words >> n;
  std::cout << line << n << std::endl;
}

static void errors(int count) {
  try {
    if (count > 3)
      throw std::runtime_error("many");
    std::regex expression("(a|b)*c?");
    std::any value = count;
    (void)std::any_cast<float>(value);
  } catch (const std::bad_any_cast &e) {
    std::cerr << e.what();
  } catch (const std::exception &e) {
    std::cerr << e.what();
  }
  auto kept = std::make_exception_ptr(std::logic_error("kept"));
  auto copy = kept;
  try {
    std::rethrow_exception(copy);
  } catch (...) {
  }
}

static void threads() {
  std::mutex m;
  std::condition_variable changed;
  bool done = false;
  std::thread t([&] {
    std::lock_guard hold(m);
    done = true;
    changed.notify_all();
  });
  {
    std::unique_lock hold(m);
    changed.wait(hold, [&] { return done; });
  }
  t.join();
  auto later = std::async([] { return 3; });
  std::cout << later.get();
  std::atomic<int> a{0};
  a.notify_all();
  a.wait(1);
  static thread_local int own = 3;
  std::cout << own;
  dispatch_sync_f(dispatch_get_global_queue(0, 0), nullptr, [](void *) {});
}

int main(int count, char **arguments) {
  std::vector<std::string> names(arguments, arguments + count);
  std::map<int, std::string> ordered;
  std::unordered_map<std::string, int> hashed;
  hashed["a"] = static_cast<int>(std::hash<std::string>()("a"));
  for (auto &e : std::filesystem::recursive_directory_iterator("."))
    std::cout << e.path() << e.file_size();
  std::filesystem::create_directories("x/y");
  std::filesystem::remove_all("x");
  std::cout << std::format("{} {:.3f} {:>8}", count, 2.5, "x");
  char digits[64];
  auto end = std::to_chars(digits, digits + sizeof digits, 3.25).ptr;
  int whole = 0;
  (void)std::from_chars(digits, end, whole);
  std::unique_ptr<Base> base = std::make_unique<Derived>();
  std::cout << dynamic_cast<Derived *>(base.get())->f();
  std::pmr::monotonic_buffer_resource pool;
  std::pmr::vector<int> numbers({1, 2}, &pool);
  std::variant<int, std::string> either = whole;
  std::optional<int> maybe = std::get<0>(either);
  std::mt19937 random(std::random_device{}());
  std::cout << random() << maybe.value_or(0) << std::chrono::system_clock::now().time_since_epoch().count();
  __int128 wide = count;
  std::cout << static_cast<long>(wide / (count + 1) % 7) << static_cast<double>(wide);
  streams();
  errors(count);
  threads();
  std::cout << _dyld_image_count() << (dlsym(RTLD_DEFAULT, "main") != nullptr) << pthread_main_np();
  return 0;
}
