// Where a class has several implementations, of which a program links one: what it keeps is a type that only the linked
// one knows, and yet the class is destroyed and moved in its header.
#pragma once

#include <memory>

namespace segue {

template <typename T>
class Hidden {
 public:
  Hidden() = default;  // nothing
  explicit Hidden(std::unique_ptr<T> object)
      : object_(object.release(), [](T* owned) { const std::unique_ptr<T> owner(owned); }) {}

  explicit operator bool() const { return object_ != nullptr; }
  T* get() const { return object_.get(); }
  T* operator->() const { return object_.get(); }

 private:
  std::unique_ptr<T, void (*)(T*)> object_{nullptr, nullptr};
};

}  // namespace segue
